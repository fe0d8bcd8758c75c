"""`list FAMILY`: a family's semantics, as its own code describes them in a process of its own."""

import json
from typing import Any

from harness.catalog import child_process
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import plan

PROBE_SECONDS = 60.0


def probe_family(project: Project, name: str) -> tuple[list[dict[str, Any]], str]:
    """(a family's semantics as :mod:`harness.worker.family_probe` describes them, why there are none).

    They are described at the shortest workload of a suite, because bench.yaml says which sizes make sense.
    UsageError, with the nearest name, where there is no such family.
    """
    family, config = project.catalog.family(name), project.config
    suites = [suite.name for suite in config.suites.values() if suite.family.text == name]
    planned = plan(config, project.catalog, suites, Overrides()).suites if suites else ()
    shortest = [min(suite.cases, key=lambda case: case.seq) for suite in planned]
    points = [dict(case.workload) for case in shortest]
    question = json.dumps({"module": family.module, "family": name, "points": points})
    try:
        return child_process.ask(["harness.worker.family_probe", question], PROBE_SECONDS), ""
    except child_process.NoAnswer as error:
        return [], f"{family.file} does not say what its semantics are: {error}"
