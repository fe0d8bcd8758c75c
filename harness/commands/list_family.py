"""`list FAMILY`: a family's semantics, as its own code describes them."""

from typing import Any

from harness.catalog.child_process import NoAnswer
from harness.catalog.family_questions import semantics_info
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import plan


def describe_family(project: Project, name: str) -> tuple[list[dict[str, Any]], str]:
    """(a family's semantics as :mod:`harness.catalog.family_questions` describes them, why there are none).

    They are described at the shortest workload of a suite, because bench.yaml says which sizes make sense.
    UsageError, with the nearest name, where there is no such family.
    """
    family, config = project.catalog.family(name), project.config
    suites = [suite.name for suite in config.suites.values() if suite.family.text == name]
    planned = plan(config, project.catalog, suites, Overrides()).suites if suites else ()
    shortest = [min(suite.cases, key=lambda case: case.seq) for suite in planned]
    try:
        return semantics_info(family, [dict(case.workload) for case in shortest]), ""
    except NoAnswer as error:
        return [], f"{family.file} does not say what its semantics are: {error}"
