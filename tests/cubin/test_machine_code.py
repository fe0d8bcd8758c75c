"""Parsing the output of NVIDIA's tools."""

from pathlib import Path

import pytest

from harness.catalog.accelerators import CAPABILITIES, accelerators
from harness.core.errors import Unsupported
from harness.cubin.machine_code import occupancy, parse_listings, read

USAGE = """
Resource usage:
 Function attn:
  REG:255 STACK:1080 SHARED:{shared} LOCAL:0 CONSTANT[0]:584 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
LISTING = """
	.target	sm_{target}
	//## File "{folder}/flash.py", line {line}
        /*0000*/                   LDC R1, c[0x0][0x37c] ;
        /*0010*/               @P1 STL [R1+0x4], R2 ;
        /*0020*/              @!P0 LDL.LU R4, [R1] ;
	//## File "{folder}/flash.py", line 19 inlined at "{folder}/flash.py", line 30
        /*0030*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24 ;
        /*0040*/                   STL [R1], R7 ;
        /*0050*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*1f060*/                  EXIT ;
"""


def code_of(target="90a", shared=1024, folder="/somewhere", line=12):
    return parse_listings(
        USAGE.format(shared=shared), LISTING.format(target=target, folder=folder, line=line)
    )


def test_resources_and_instructions():
    code = code_of()
    assert (code.registers, code.spilled_bytes, code.code_bytes) == (255, 1080, 7 * 16)
    assert code.by_class() == {"spill": 3, "other": 2, "wgmma": 1, "barrier": 1}
    assert code.spilled_at == {"flash.py:12": 2, "flash.py:19": 1}


@pytest.mark.parametrize(
    ("target", "shared", "own"), [("90a", 1024, 0), ("100a", 1536, 512), ("80", 512, 512)]
)
def test_reserved_shared_memory_is_not_the_kernels(target, shared, own):
    assert code_of(target=target, shared=shared).static_shared_bytes == own


def test_a_program_does_not_depend_on_its_sources_path():
    assert code_of().program == code_of(folder="/elsewhere", line=99).program
    assert code_of().program != parse_listings(USAGE.format(shared=0), LISTING.replace("R7", "R8")).program


def test_missing_tools_are_named_with_the_remedy(tmp_path):
    with pytest.raises(Unsupported, match=r"cuobjdump is missing.*pip install -e '\.\[triton\]'"):
        read(b"", tmp_path)


def test_a_tools_error_message_is_reported(tmp_path):
    for name in ("cuobjdump", "nvdisasm"):
        tool = tmp_path / name
        tool.write_text("#!/bin/sh\necho 'not an ELF file' >&2\nexit 3\n")
        tool.chmod(0o755)
    with pytest.raises(Unsupported, match="cuobjdump cannot read the kernel: not an ELF file"):
        read(b"", tmp_path)


ROWS = [
    line.split()
    for line in (Path(__file__).parents[1] / "data" / "cubin" / "occupancy.txt").read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("capability", sorted({row[0] for row in ROWS}))
def test_occupancy_equals_cudas_calculator(capability):
    rows = [row[1:] for row in ROWS if row[0] == capability]
    assert len(rows) >= 20
    for *numbers, limits in rows:
        warps, registers, shared_bytes, blocks = map(int, numbers)
        held = occupancy(capability, warps, registers, shared_bytes)
        assert held.blocks == blocks
        assert held.share == blocks * warps / CAPABILITIES[capability].warps <= 1
        assert held.limiter.replace(" ", "-") in limits.split(",")


def test_every_gpu_with_a_data_file_has_limits():
    gpus = [device for device in accelerators().values() if device.kind == "cuda"]
    assert len(gpus) >= 4
    for device in gpus:
        sm = CAPABILITIES[device.gpu["compute_capability"]]
        assert sm.warps * 32 == device.gpu["threads_per_core_limit"]
        assert sm.shared_bytes == device.gpu["shared_memory_per_core"]
        assert sm.shared_block_bytes == device.gpu["shared_memory_per_block_optin"]
