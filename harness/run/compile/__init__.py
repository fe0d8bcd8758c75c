"""Compiling cases for targets and running none: on every core, and never the same thing twice."""

from harness.run.compile.pool import Pool, compile_all
from harness.run.compile.request import CompileRequest, CompileResult

__all__ = ["CompileRequest", "CompileResult", "Pool", "compile_all"]
