"""What most commands load, for the process that all of them are forked from: no framework, and no thread."""

import harness.commands.app
import harness.commands.run
import harness.gate.static.run
import harness.report.run_report
import harness.run.compile.static_run
import harness.run.session  # noqa: F401
from harness.catalog import discovery

discovery.builtin()  # imports the implementations, and keeps their files' hashes
