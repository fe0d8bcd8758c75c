"""Wrong input: one sentence with file, line and the nearest name; exit 2; nothing runs."""

import pytest


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "maks"], 'unknown suite "maks"; nearest: "mask"'),
        (["run", "--impl", "scater"], 'nearest: "scatter"'),
        (["run", "--set", "rows"], "write FIELD=VALUE"),
        (["run", "--figures"], "goes with --dry-run"),
        (["run", "--graphs"], "--graphs: cpu has no CUDA graphs to replay; add --device cuda"),
        (
            ["run", "--graphs", "--on", "pool"],
            "does not go with --on: graphs are tried on this machine alone",
        ),
        (
            ["run", "--dry-run", "--on", "pool"],
            '"pool" is none of the machines in bench.yaml, which names none',
        ),
        (["doctor", "--on", "pool"], '"pool" is none of the machines in bench.yaml, which names none'),
        (["report", "--html", "."], "--html .: is no file; name one"),
        (["report", "--into", "."], ".: it is no regular file; name a file"),
        (["run", "--set", "dtype=f33"], 'nearest: "f32"'),
        (["run", "--memory", "18GX"], "GX"),
        (["run", "--plugin", "absent.py"], "absent.py"),
        (["run", "--config", "absent.yaml"], "absent.yaml"),
        (["run", "--no-such-flag"], "no-such-flag"),
        (["static", "--target", "tpu:v9"], "tpu:v9"),
        (["check", "mask/scater"], 'nearest: "mask/scatter"'),
        (["check", "topkk"], 'nearest: "topk"'),
        (["check", "scatter[x"], "name[option=value]"),
        (["run", "--impl", "scatter[x"], "name[option=value]"),
        (["show", "--run", "1999"], "1999"),
        (["show", "--columns", "temp/bse"], 'unknown column "temp/bse"; nearest: "temp/base"; known: time,'),
        (["run", "--columns", "colour"], 'unknown column "colour"; known: time, 95 %, speedup, FLOP/s,'),
        (["show", "--baseline", "scater"], 'the run has no "scater"; nearest: "scatter"'),
        (["chart", "--baseline", "scater"], 'the run has no "scater"; nearest: "scatter"'),
        (["chart", "nosuite"], "nosuite"),
        (["compare", "latest"], "--impl a,b"),
        (["compare", "latest", "--impl", "scatter"], "name two implementations"),
        (["compare", "latest", "--impl", "scatter,brodcast"], 'nearest: "broadcast"'),
        (["nosuchcommand"], "nosuchcommand"),
    ],
)
def test_a_typo_is_a_sentence(in_process, measured, words, says):
    said = in_process(*words)
    assert said.code == 2
    assert says in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("typo", "line", "says"),
    [("    family: msak", 5, "msak"), ("    basline: broadcast", 9, "basline"), ("    rows: 4Kx", 7, "4Kx")],
)
def test_a_typo_in_bench_yaml_names_its_line(in_process, project, tmp_path, typo, line, says):
    lines = (project / "bench.yaml").read_text().splitlines()
    lines[line - 1] = typo
    (tmp_path / "bench.yaml").write_text("\n".join(lines) + "\n")
    said = in_process("run", folder=tmp_path)
    assert said.code == 2
    assert f"bench.yaml:{line}:" in said.err
    assert says in said.err
    assert not (tmp_path / "results").exists()


def test_results_that_cannot_be_written(in_process, tmp_path):
    (tmp_path / "file").write_text("")
    said = in_process("run", "--results", str(tmp_path / "file"))
    assert said.code == 5
    assert str(tmp_path / "file") in said.err


def test_resume_without_a_run(in_process, tmp_path):
    said = in_process("run", "--resume", "--results", str(tmp_path))
    assert said.code == 2
    assert "--resume" in said.err


def test_list_and_doctor(seqsweep, in_process):
    assert "mask/scatter" in {info["id"] for info in in_process("list", "--json").json["implementations"]}
    assert {finding["what"] for finding in seqsweep("doctor", "--json").json["findings"]} >= {"torch", "jax"}
