"""DataFrames of stored runs: every column's value is known before it is read."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from harness.core.errors import UsageError
from harness.core.tpu_kernel_figures import OperandBlock
from harness.frames.load import load
from harness.frames.rows import COLUMNS, FrameBuilder
from tests.records import kernel_of, record_of, static_of, tpu_kernel_of
from tests.stores import RUNS, store

ROOT = Path(__file__).resolve().parents[2]


def test_a_models_record_names_where_its_fields_come_from(tmp_path: Path) -> None:
    mine, other = record_of("base", 4096), record_of("base", 8192)
    source = {
        "repo": "org/configs",
        "path": "m/c.json",
        "commit": "0123456789",
        "sha256": "ab",
        "preset": "cd",
    }
    told = {"label": "m (tp 8)", "layers": 3, "tokens": 1, "source": source, "cases": [mine.case]}
    folder = store(tmp_path, RUNS[0], [mine, other])
    suite = folder.info["suites"]["mask"]
    folder.update_info(suites={"mask": {**suite, "models": [told, {**told, "label": "n"}]}})
    first, second = load(tmp_path).frame().itertuples()
    assert first.model == "m (tp 8); n"
    assert first.model_source.split("; ")[0] == "org/configs@0123456789:m/c.json sha256=ab preset=cd"
    assert pd.isna(second.model)
    assert pd.isna(second.model_source)


def test_a_row_has_what_its_record_says(results: Path) -> None:
    frame = load(results).frame()
    assert [*frame.columns] == [*COLUMNS["frame"], "batch", "dtype", "topk"]
    assert len(frame) == 6
    row = frame.iloc[3]
    expected = {
        "run": RUNS[1],
        "family": "mask",
        "implementation": "mask/scatter",
        "options": "k=2",
        "label": "mask/scatter[k=2]",
        "mode": "fwd",
        "seq": 4096,
        "replicate": 0,
        "baseline": False,
        "status": "ok",
        "contract": "exact",
        "coverage": "whole",
        "passed": True,
        "time_s": 2.0,
        "interval": "rounds of one process",
        "rounds": 6,
        "readings": 8,
        "inner": 3,
        "method": "wall",
        "flops": 8e12,
        "tflop_per_s": 4.0,
        "dense_tflop_per_s": 8.0,
        "gb_per_s": 2.0,
        "machine": "Known Processor",
        "seed": 0,
        "batch": 1,
        "dtype": "f32",
        "started": pd.Timestamp("2026-11-20 11:30", tz="UTC"),
    }
    assert {name: row[name] for name in expected} == expected
    assert row["tflop_per_s_low"] == 8 / row["time_high_s"]
    assert row["tflop_per_s_high"] == 8 / row["time_low_s"]


def test_figures_of_the_compiler_and_of_memory(results: Path) -> None:
    row = load(results, run=RUNS[0]).frame().iloc[0]
    figures = ["target", "argument_bytes", "output_bytes", "temp_bytes", "planned_bytes", "compiled_flops"]
    assert [*row[figures]] == ["host", 10, 20, 40, 65, 7]
    assert row["high_water_bytes"] == 99
    assert row["baseline"]


def test_what_is_missing_stays_missing(results: Path) -> None:
    frame = load(results).frame()
    backward, oom = frame.iloc[4], frame.iloc[5]
    for name in ("time_s", "rounds", "passed", "temp_bytes", "tflop_per_s", "method", "target", "side"):
        assert pd.isna(oom[name]), name
    assert oom["reason"] == "plans 33 GiB"
    assert backward["time_s"] == 1.0
    assert pd.isna(backward["interval"])
    assert math.isnan(backward["tflop_per_s"]), "the formulas count no backward"
    assert pd.isna(frame["topk"].iloc[0])
    assert oom["topk"] == 7


def test_dtypes_do_not_depend_on_what_was_measured(results: Path, tmp_path: Path) -> None:
    store(tmp_path / "few", RUNS[0], [record_of("a", 1, status="skipped", family="x")])
    few, all_ = load(tmp_path / "few").frame(), load(results).frame()
    named = [name for name in COLUMNS["frame"] if not isinstance(few[name].dtype, pd.CategoricalDtype)]
    assert {name: few[name].dtype for name in named} == {name: all_[name].dtype for name in named}
    assert {name for name in COLUMNS["frame"] if isinstance(all_[name].dtype, pd.CategoricalDtype)} == {
        name for name, (kind, _, _) in COLUMNS["frame"].items() if kind == "category"
    }
    assert (few["seq"].dtype, few["time_s"].dtype) == ("Int64", "float64")


def test_body_only_counts_are_missing_and_body_only_says_so(tmp_path: Path) -> None:
    once = static_of(flops=5.0, bytes_accessed=6.0, temp_bytes=1, body_only=True)
    store(tmp_path, RUNS[0], [record_of("a", 1, static={"host": once})])
    row, figures = load(tmp_path).frame().iloc[0], load(tmp_path).static().iloc[0]
    assert pd.isna(row["compiled_flops"])
    assert pd.isna(row["compiled_bytes"])
    assert row["temp_bytes"] == 1
    assert (figures["flops"], figures["body_only"]) == (5.0, True)


def test_samples_are_a_row_per_reading(results: Path) -> None:
    samples = load(results, run=RUNS[0], impl="scatter").samples()
    assert [*samples.columns] == [*COLUMNS["samples"]]
    assert [*samples["sample_s"]] == [1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0]
    assert [*samples["round"]] == [0, 0, 1, 2, 3, 4, 5, 5]
    assert [*samples["reading"]] == [*range(8)]
    assert {*samples["label"]} == {"mask/scatter[k=2]"}
    assert len(load(results).samples()) == 2 * (6 + 8) + 1


def test_static_is_a_row_per_target(results: Path) -> None:
    static = load(results, run="latest", family=["mask"]).static()
    assert [*static["target"]] == ["host", "tpu:v5p"]
    assert [*static["planned_bytes"]] == [65, 65]
    assert static["bytes_accessed"].isna().all()


def test_kernels_are_a_row_per_configuration_and_target(tmp_path: Path) -> None:
    small, large = (kernel_of(configuration=f"BM={bm}", spilled_bytes=bm - 64) for bm in (64, 128))
    alone = kernel_of(waves=None, tail=None, unavailable={"waves": "no device", "tail": "no device"})
    targets = {"cuda:h100": (small, large), "cuda:sm_90": (alone,), "host": ()}
    static = {target: replace(static_of(temp_bytes=1), kernels=known) for target, known in targets.items()}
    store(tmp_path, RUNS[0], [record_of("a", 4096, static=static)])
    kernels, by_target = load(tmp_path).kernels(), load(tmp_path).static().set_index("target")
    assert [*kernels.columns] == [*COLUMNS["kernels"]]
    assert [*kernels["target"]] == ["cuda:h100", "cuda:h100", "cuda:sm_90"]
    assert [*kernels["spilled_bytes"]] == [0, 64, 0]
    assert kernels["configuration"].isna().sum() == kernels["waves"].isna().sum() == 1
    row = kernels.iloc[0]
    assert (row["grid"], row["grid_blocks"], row["limiter"], row["occupancy"]) == (
        "64×8",
        512,
        "registers",
        0.1875,
    )
    counted = (
        "instructions",
        "matrix_instructions",
        "wgmma_instructions",
        "global_instructions",
        "spill_instructions",
    )
    assert [row[name] for name in counted] == [40, 32, 32, 8, 0]
    assert [*by_target["kernels"].astype(object)] == [2, 1, pd.NA]
    assert by_target.loc["cuda:h100", ["kernel", "spilled_bytes"]].to_list() == ["attn (BM=128)", 64]
    assert by_target.loc["host", ["registers", "limiter"]].isna().all()


def test_pallas_kernels_have_the_columns_of_a_tpu(tmp_path: Path) -> None:
    cut = OperandBlock("k_ref", (64, 64), (8, 64), "bfloat16", "vmem", (16, 128))
    fuller = tpu_kernel_of(kernel="wide", vmem_bytes=8 << 20, blocks=(cut,), grid=(8, -1), steps=-1, calls=2)
    static = {"tpu:v5p": replace(static_of(temp_bytes=1), tpu_kernels=(tpu_kernel_of(), fuller))}
    store(tmp_path, RUNS[0], [record_of("a", 4096, static=static)])
    kernels, by_target = load(tmp_path).kernels(), load(tmp_path).static().set_index("target")
    assert [*kernels["vmem_bytes"]] == [4 << 20, 8 << 20]
    assert [*kernels["grid_blocks"].astype(object)] == [8, pd.NA]
    assert kernels.loc[1, ["grid", "launches", "unaligned"]].to_list() == ["8×?", 2, "k_ref"]
    assert kernels[["registers", "instructions", "matrix_instructions", "limiter"]].isna().all(axis=None)
    assert by_target.loc["tpu:v5p", ["kernels", "kernel", "vmem_bytes"]].to_list() == [2, "wide", 8 << 20]


def test_speedups_are_within_each_run(results: Path) -> None:
    speedups = load(results).speedups()
    assert [*speedups.columns] == [*COLUMNS["speedups"]]
    timed = speedups.dropna(subset=["speedup"])
    assert [*timed["run"]] == [*RUNS]
    assert [*timed["speedup"]] == [2.0, 4.0]
    assert speedups["reason"].iloc[-1] == "n/a (oom)"
    turned = load(results, run=RUNS[0], baseline="scatter")
    assert [*turned.speedups()["speedup"]] == [0.5]
    assert [*turned.frame()["baseline"]] == [False, True]


def test_a_run_a_file_and_a_folder_of_runs_are_places(results: Path) -> None:
    folder = results / "runs" / RUNS[0]
    for place in (folder, folder / "records.jsonl", str(folder)):
        assert len(load(place).frame()) == 2
    assert len(load(results / "runs").frame()) == 6
    assert len(load(results / "runs", run="20261120").frame()) == 2
    assert repr(load(results, seq="4Ki")).startswith(f"<2 runs, {RUNS[0]} to {RUNS[1]}, in {results}, seqs ")


def test_words_select_as_flags_do(results: Path) -> None:
    assert len(load(results, seq=4096, mode="fwd").frame()) == 4
    assert len(load(results, mode="bwd").frame()) == 1, "a word that one of the runs has is no mistake"
    assert len(load(results, impl="base,scatter", seq=["4Ki", "8Ki"]).frame()) == 6


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
def test_a_wrong_word_is_a_sentence(results: Path, words: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        load(results, **words).frame()


def test_a_missing_place_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no runs; name a folder of results, or make a run with"):
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
    assert f"{path}:{number}: the checksum does not fit" in texts[1]
    assert "fingerprints.json: cannot be read" in texts[0]
    assert {warning.filename for warning in told} == {__file__}


def test_a_further_column_of_a_columns_name_is_set_apart() -> None:
    builder = FrameBuilder("samples")
    record = record_of("a", 4096)
    for further in ({"case": "text", "n": 1}, {"case": 3, "n": None}, {"half": 0.5}):
        builder.append(further, record=record, computed={"label": "l"})
    frame = builder.frame()
    assert [*frame["workload_case"].astype(object)[:2]] == ["text", "3"]
    assert frame["n"].dtype == "Int64"
    assert [*frame["half"].isna()] == [True, True, False]
    assert [*frame.columns[-3:]] == ["workload_case", "half", "n"]
