"""Run a module of the harness in a new Python process, which prints its answer as JSON."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.errors import MachineError
from harness.run.processes.output_log import last_line


def run_module(
    words: Sequence[str], what: str, seconds: float, environment: Mapping[str, str], question: Any = None
) -> Any:
    """The answer of `python -m WORDS`, which gets the question as JSON on its standard input.

    MachineError where it fails, or takes more than `seconds`; its sentence begins with `what`, the task.
    """
    try:
        answer = subprocess.run(
            [sys.executable, "-m", *words],
            input=json.dumps(question),
            env=environment,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise MachineError(f"{what} took more than {seconds:.0f} s; free the machine and retry") from None
    except subprocess.CalledProcessError as error:
        raise MachineError(f"{what} failed: {last_line(error.stderr)}") from None
    return json.loads(answer.stdout)
