"""Temporary folder for a gate's worktrees."""

from harness.core.errors import MachineError
from harness.core.scratch_folder import ScratchFolder


def temp_folder() -> ScratchFolder:
    """A folder that is removed at the end of the block. MachineError where none can be made."""
    try:
        return ScratchFolder("gate-")
    except OSError as error:
        raise MachineError(
            f"no temporary folder can be made ({error.strerror}); free space there, or set TMPDIR"
        ) from None
