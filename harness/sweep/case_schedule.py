"""A schedule of exactly the cases with given ids, under the settings of bench.yaml."""

from collections.abc import Sequence
from dataclasses import replace

from harness.catalog.catalog import Catalog
from harness.core.case import split_id
from harness.core.errors import UsageError
from harness.sweep.config import Config, SuiteConfig
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import Schedule, plan
from harness.sweep.yaml.nodes import Entry, Scalar, at


def schedule_cases(
    ids: Sequence[str], catalog: Catalog, config: Config, overrides: Overrides | None = None
) -> Schedule:
    """A suite for each id; those of one point share a group. UsageError where there is no such case."""
    suites = {case: _suite(case) for case in ids}
    chosen = replace(config, default=tuple(suites), suites=suites)
    schedule = plan(chosen, catalog, (), overrides or Overrides())
    for suite in schedule.suites:
        if [case.id for case in suite.cases] != [suite.name]:
            raise UsageError(f"{suite.name}: is called {suite.cases[0].id} by this version")
    return schedule


def _suite(case: str) -> SuiteConfig:
    with at(case):
        parts = split_id(case)
    return SuiteConfig(
        name=case,
        where=case,
        family=Scalar.given(case, parts.label.partition("/")[0]),
        impls=(Scalar.given(case, parts.label),),
        axes={name: Entry(case, Scalar.given(case, value)) for name, value in parts.fields.items()},
        modes=(parts.mode,),
        devices=(parts.device,),
    )
