"""DataFrames of stored runs, with known values in every column."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from harness.core.errors import UsageError
from harness.core.kernel_figures import OperandBlock
from harness.frames.load import load
from harness.frames.rows import COLUMNS, FrameBuilder
from tests.goldens import assert_golden, scenes
from tests.records import kernel_of, record_of, static_of, tpu_kernel_of
from tests.stores import RUNS, store, store_two_runs

CUT = OperandBlock("k_ref", (64, 64), (8, 64), "bfloat16", "vmem", (16, 128))
SOURCE = {"repo": "org/configs", "path": "m/c.json", "commit": "0123456789", "sha256": "ab", "preset": "cd"}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    store_two_runs(tmp_path / "results")
    return tmp_path / "results"


def kind_of(column: pd.Series) -> str:
    """One name for dtypes that versions of pandas name differently."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "category"
    return {"object": "str"}.get(str(column.dtype), re.sub(r"\[.*", "", str(column.dtype)))


def dataframe_text(frame: pd.DataFrame) -> str:
    """Each column with its dtype and values; missing values are <NA>."""
    return "\n".join(
        f"{name} ({kind_of(frame[name])}): "
        + " | ".join("<NA>" if pd.isna(value) else str(value) for value in frame[name])
        for name in frame
    )


def store_kernels(folder: Path) -> None:
    """Kernels of GPUs with and without a device, of a TPU, and a loop whose body counts once."""
    small, large = (kernel_of(configuration=f"BM={bm}", spilled_bytes=bm - 64) for bm in (64, 128))
    alone = kernel_of(waves=None, tail=None, unavailable={"waves": "no device", "tail": "no device"})
    fuller = tpu_kernel_of(kernel="wide", vmem_bytes=8 << 20, blocks=(CUT,), grid=(8, -1), steps=-1, calls=2)
    kernels = {"cuda:h100": (small, large), "cuda:sm_90": (alone,), "host": ()}
    static = {target: replace(static_of(temp_bytes=1), kernels=known) for target, known in kernels.items()}
    static["tpu:v5p"] = replace(static_of(temp_bytes=1), tpu_kernels=(tpu_kernel_of(), fuller))
    once = static_of(flops=5.0, bytes_accessed=6.0, temp_bytes=1, body_only=True)
    store(folder, RUNS[0], [record_of("a", 4096, static=static), record_of("b", 1, static={"host": once})])


def test_frames_match_the_golden_file(results: Path, tmp_path: Path) -> None:
    store_kernels(tmp_path / "kernels")
    kernels, turned = load(tmp_path / "kernels"), load(results, run=RUNS[0], baseline="scatter")
    frames = {
        "frame": load(results).frame(),
        "samples of one": load(results, run=RUNS[0], impl="scatter").samples(),
        "static": load(results, run="latest", family=["mask"]).static(),
        "speedups": load(results).speedups(),
        "speedups over another baseline": turned.speedups(),
        "kernels": kernels.kernels(),
        "static of kernels": kernels.static(),
        "frame of kernels": kernels.frame(),
    }
    assert_golden("frames.txt", scenes({name: dataframe_text(frame) for name, frame in frames.items()}))
    assert [*turned.frame()["baseline"]] == [False, True]
    assert len(load(results).samples()) == 2 * (6 + 8) + 1


def test_a_models_record_has_the_source_of_its_fields(tmp_path: Path) -> None:
    mine, other = record_of("base", 4096), record_of("base", 8192)
    told = {"label": "m (tp 8)", "layers": 3, "tokens": 1, "source": SOURCE, "cases": [mine.case]}
    folder = store(tmp_path, RUNS[0], [mine, other])
    suite = folder.info["suites"]["mask"]
    folder.update_info(suites={"mask": {**suite, "models": [told, {**told, "label": "n"}]}})
    first, second = load(tmp_path).frame().itertuples()
    assert first.model == "m (tp 8); n"
    assert first.model_source.split("; ")[0] == "org/configs@0123456789:m/c.json sha256=ab preset=cd"
    assert pd.isna(second.model)
    assert pd.isna(second.model_source)


def test_dtypes_do_not_depend_on_what_was_measured(results: Path, tmp_path: Path) -> None:
    store(tmp_path / "few", RUNS[0], [record_of("a", 1, status="skipped", family="x")])
    few, all_ = load(tmp_path / "few").frame(), load(results).frame()
    named = [name for name, (kind, _, _) in COLUMNS["frame"].items() if kind != "category"]
    assert {name: few[name].dtype for name in named} == {name: all_[name].dtype for name in named}


def test_paths_and_words_select_like_the_flags(results: Path) -> None:
    folder = results / "runs" / RUNS[0]
    for place in (folder, folder / "records.jsonl", str(folder)):
        assert len(load(place).frame()) == 2
    assert len(load(results / "runs").frame()) == 6
    for words, count in (
        ({"run": "20261120"}, 2),
        ({"seq": 4096, "mode": "fwd"}, 4),
        ({"mode": "bwd"}, 1),  # a word that one of the runs has is no mistake
        ({"impl": "base,scatter", "seq": ["4Ki", "8Ki"]}, 6),
    ):
        assert len(load(results, **words).frame()) == count
    assert repr(load(results, seq="4Ki")).startswith(f"<2 runs, {RUNS[0]} to {RUNS[1]}, in {results}, seqs ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"famly": "mask"}, 'load: unknown selection "famly"; nearest: "family"'),
        ({"impl": "scater"}, '--impl: the run has no "scater"; nearest: "scatter"'),
        ({"suite": "maks"}, 'the run has no suite "maks"; nearest: "mask"'),
        ({"run": "1999"}, 'no run "1999"'),
        ({"baseline": "bse"}, '--baseline: the run has no "bse"; nearest: "base"'),
    ],
)
def test_a_wrong_word_is_a_usage_error(results: Path, words: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        load(results, **words).frame()


def test_a_missing_path_has_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no runs; name a folder of results, or measure with"):
        load(tmp_path / "nowhere")


def test_damage_is_a_warning_with_file_and_line(results: Path) -> None:
    folder = results / "runs" / RUNS[0]
    path = folder / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    number = 1 + [b'"append"' in line for line in lines].index(True)
    lines[number - 1] = lines[number - 1].replace(b'"median_s":4.0', b'"median_s":4.1')
    path.write_bytes(b"".join(lines))
    (folder / "fingerprints.json").write_text("{")
    with pytest.warns(UserWarning, match=RUNS[0]) as told:
        frame = load(results).frame()
    assert len(frame) == 5
    assert frame["machine"].isna().sum() == 1
    texts = [str(warning.message) for warning in told]
    assert f"{path}:{number}: the checksum does not match" in texts[1]
    assert "fingerprints.json: cannot be read" in texts[0]
    assert {warning.filename for warning in told} == {__file__}


def test_a_field_with_the_name_of_a_column_is_renamed() -> None:
    builder = FrameBuilder("samples")
    record = record_of("a", 4096)
    for further in ({"case": "text", "n": 1}, {"case": 3, "n": None}, {"half": 0.5}):
        builder.append(further, record=record, computed={"label": "l"})
    frame = builder.frame()
    assert [*frame["workload_case"].astype(object)[:2]] == ["text", "3"]
    assert frame["n"].dtype == "Int64"
    assert [*frame["half"].isna()] == [True, True, False]
    assert [*frame.columns[-3:]] == ["workload_case", "half", "n"]
