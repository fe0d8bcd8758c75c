"""Compilation of cases for targets, without running them: on every core, and cached."""

from harness.run.compile.pool import Pool, compile_all
from harness.run.compile.request import CompileRequest, CompileResult

__all__ = ["CompileRequest", "CompileResult", "Pool", "compile_all"]
