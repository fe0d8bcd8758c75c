"""Fuzzed files of a user are read unchanged, or refused in a sentence that names them.

`make fuzz` tries the same properties on many more inputs than `make test`.
"""

import io
import json
import struct
import zlib
from base64 import b64decode, b64encode

import numpy as np
import pytest
from hypothesis import given

from harness import Array
from harness.catalog import discovery
from harness.core import workload_files
from harness.core.errors import Unsupported, UsageError
from harness.findings.receipt import receipt_of
from harness.findings.receipt_text import pack, read_receipt, to_text
from harness.findings.recheck import HOLDS, Here, check_statements
from harness.worker.captured_inputs import read_captured
from tests.findings.stored import store_findings_run, sweep
from tests.fuzz.mutate import mutated, other_value
from tests.fuzz.test_fuzz import answer_or_refusal, examples, randoms

WANTED = {"x": Array((2, 3), "f32"), "n": Array((4,), "i32")}
ARRAYS = {"x": np.arange(12, dtype="f4").reshape(3, 4), "n": np.arange(6, dtype="i4")}


NUMBERS = (0, 1, 7, 8, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1)


def archive(random):
    """The bytes of an .npz, changed."""
    out = io.BytesIO()
    np.savez(out, **ARRAYS)
    return mutated(random, out.getvalue())


def tensors(random):
    """The bytes of a .safetensors with offsets, shapes and lengths that may be any."""
    header, data = {}, b""
    for name, array in ARRAYS.items():
        ends = [len(data), len(data) + array.nbytes]
        dtype = {"f": "F32", "i": "I32"}[array.dtype.kind]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": ends}
        data += array.tobytes()
    for _ in range(random.choice((0, 1, 1, 2))):
        entry = header[random.choice(list(ARRAYS))]
        match random.randrange(3):
            case 0:
                entry["shape"][random.randrange(len(entry["shape"]))] = random.choice((-1, *NUMBERS))
            case 1:
                entry["data_offsets"][random.randrange(2)] = random.choice((-8, *NUMBERS, len(data)))
            case _:
                header = other_value(random, header)
                break
    text = json.dumps(header).encode()
    length = random.choice(NUMBERS) if random.random() < 0.2 else len(text)
    whole = struct.pack("<Q", length) + text + data
    return mutated(random, whole) if random.random() < 0.4 else whole


def named_or_read(path, ask):
    """The answer; None where it is refused in a sentence with the file's name."""
    try:
        return ask()
    except (Unsupported, UsageError) as refusal:
        if str(path) not in str(refusal):
            raise
        return None


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header parsing")
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@examples(10)
@given(randoms)
def test_captured_inputs_are_what_is_wanted_or_refused(tmp_path, tried, suffix, random):
    path = tmp_path / f"caught{suffix}"
    for _ in range(8):
        path.write_bytes((archive if suffix == ".npz" else tensors)(random))
        tried()
        workload_files.identify_captured.cache_clear()
        read = named_or_read(path, lambda: read_captured(str(path), WANTED))
        assert all(read[name].shape == WANTED[name].shape for name in read or ())


TABLES = (
    "tokens\n128\n4096\n",
    "tokens,documents\n128,5\n4096,2\n",
    "shortest,longest,documents\n1,128,9\n129,4096,3\n",
)


@examples(10)
@given(randoms)
def test_a_table_of_lengths_is_read_or_refused(tmp_path, tried, random):
    for _ in range(10):
        tried()
        content = mutated(random, random.choice(TABLES).encode())
        read = answer_or_refusal(lambda content=content: workload_files.parse_table("mine.csv", content))
        for entry in read or ():
            assert 1 <= entry.shortest <= entry.longest <= workload_files.LONGEST
            assert 0 <= entry.documents <= workload_files.MOST_DOCUMENTS


@pytest.fixture(scope="module")
def catalog():
    return discovery.builtin()


@pytest.fixture(scope="module")
def receipt(tmp_path_factory):
    return receipt_of(store_findings_run(tmp_path_factory.mktemp("kept"), sweep()))


@examples(10)
@given(randoms)
def test_a_receipt_with_other_data_is_refused_or_whole(receipt, tried, random):
    """Its text is the stranger's own, so that it may fit: nothing but the data can be wrong."""
    packed = pack(receipt)
    text, data = to_text(receipt), json.loads(zlib.decompress(b64decode(packed)))
    for _ in range(10):
        tried()
        changed = json.dumps(other_value(random, data)).encode()
        odd = text.replace(packed, b64encode(zlib.compress(changed)).decode())
        if (taken := answer_or_refusal(lambda odd=odd: read_receipt(odd, "receipt.md"))) is None:
            continue
        assert read_receipt(to_text(taken), "receipt.md") == taken
        checks = check_statements(taken, Here({}))
        assert all(check.outcome != HOLDS or not check.why for check in checks)  # nothing was run
