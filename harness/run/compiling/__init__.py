"""Compiling cases for targets and running none: on every core, and never the same thing twice."""

from harness.run.compiling.ask import Answer, Ask
from harness.run.compiling.pool import Pool, compile_all

__all__ = ["Answer", "Ask", "Pool", "compile_all"]
