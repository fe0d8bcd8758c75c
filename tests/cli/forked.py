"""The command line in child processes, forked from a process that has imported it, which takes three seconds.

A command has its own folder, environment, streams and signals, as if a shell had started it. Variables that
Python reads at its start, for example PYTHONPATH, have no effect on it.
"""

import os
import sys
import tempfile
from contextlib import chdir
from multiprocessing import get_context
from pathlib import Path

from tests.preloaded_servers import folder_of_templates, start_from

ROOT = Path(__file__).resolve().parents[2]
LOADED = "tests.cli.loaded"
SECONDS = 300
forking = get_context("forkserver")
# What a shell starts in the background ignores Ctrl-C, and so would all that the tests start there.
HEEDING_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def call_forked(folder, words, environment, seconds=SECONDS):
    """Run the command in `folder`; its exit code and what it printed on both streams."""
    forking.set_forkserver_preload([LOADED])
    with tempfile.TemporaryDirectory() as streams:
        out, err = (Path(streams, name) for name in ("out", "err"))
        templates, _ = folder_of_templates()
        given = (str(folder), words, environment, str(out), str(err), templates)
        child = forking.Process(target=_run, args=given)
        with chdir(ROOT):  # where the server looks for what it loads
            child.start()
        child.join(seconds)
        if child.exitcode is None:
            child.kill()
            raise TimeoutError(f"seqsweep {' '.join(words)} took more than {seconds} s")
        return child.exitcode, out.read_text(), err.read_text()


def _run(folder, words, environment, out, err, templates):
    for number, name in enumerate((os.devnull, out, err)):
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = words
    start_from(templates)
    from harness.commands.app import main

    main()
