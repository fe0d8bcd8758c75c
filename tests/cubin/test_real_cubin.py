"""What NVIDIA's tools say of a cubin, against the cubin: its bytes, decoded here by other means."""

import os
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.cubin.machine_code import INSTRUCTION_BYTES, read

pytestmark = pytest.mark.full

CAPABILITIES = ("80", "90", "100")
KERNEL = """
import triton
import triton.language as tl

@triton.jit
def less_largest(x, y, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    values = tl.load(x + at)
    tl.store(y + at, values - tl.max(values, 1)[:, None])
"""
COMPILE = f"""
from pathlib import Path
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from kernel import less_largest

signature = {{"x": "*fp32", "y": "*fp32", "WIDTH": "constexpr", "BLOCK": "constexpr"}}
source = ASTSource(less_largest, signature, constexprs={{"WIDTH": 256, "BLOCK": 64}})
for capability in {CAPABILITIES}:
    for warps in (1, 16):
        options = {{"num_warps": warps}}
        made = triton.compile(source, target=GPUTarget("cuda", int(capability), 32), options=options)
        Path(f"{{capability}}-{{warps}}.cubin").write_bytes(made.asm["cubin"])
print(Path(triton.__file__).parent / "backends" / "nvidia" / "bin")
"""
# The lowest 12 bits of an instruction, which are the same from capability 7.0 on, and its name.
OPCODES = {0x986: "STG", 0x983: "LDL", 0x387: "STL", 0xB1D: "BAR", 0x94D: "EXIT", 0x918: "NOP", 0x919: "S2R"}
VALUE, REGISTERS, STACK = 0x04, 0x2F, 0x12  # of an entry in .nv.info: its form, and two of its attributes


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """(a folder of cubins, one that spills and one that does not for each capability; that of the tools)."""
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("cubins")
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "compile.py").write_text(COMPILE)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "compile.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, Path(done.stdout.splitlines()[-1])


def sections(elf):
    """The bytes of each section that has any in the file, by its name."""
    (start,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", elf, start + place * size) for place in range(count)]
    begin = heads[names][4]
    found = {}
    for name, kind, _, _, at, length in heads:
        text = elf[begin + name : elf.index(b"\0", begin + name)].decode()
        found[text] = b"" if kind == 8 else elf[at : at + length]
    return found


def attributes(info):
    """The values of one kernel, by attribute."""
    found, place = {}, 0
    while place < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, place)
        place += 4
        if form == VALUE:
            found[attribute] = struct.unpack_from("<I", info, place + size - 4)[0]
            place += size
    return found


@pytest.mark.parametrize("warps", [1, 16])
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_figures_are_what_the_cubin_holds(compiled, capability, warps):
    folder, tools = compiled
    elf = (folder / f"{capability}-{warps}.cubin").read_bytes()
    code, held = read(elf, tools), sections(elf)
    text, stated = held[".text.less_largest"], attributes(held[".nv.info"])
    assert code.code_bytes == len(text)
    assert (code.registers, code.spilled_bytes) == (stated[REGISTERS], stated[STACK])
    assert (code.spilled_bytes > 0) == (warps == 1)
    words = (struct.unpack_from("<Q", text, at)[0] & 0xFFF for at in range(0, len(text), INSTRUCTION_BYTES))
    counts = Counter(words)
    assert {name: code.opcodes.get(name, 0) for name in OPCODES.values()} == {
        name: counts[number] for number, name in OPCODES.items()
    }
    assert code.by_class().get("spill", 0) == counts[0x983] + counts[0x387]
    assert sum(code.spilled_at.values()) == counts[0x983] + counts[0x387]
