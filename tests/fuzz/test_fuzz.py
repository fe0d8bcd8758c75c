"""Fuzzed files and command lines give a correct answer or an error in a sentence, without a traceback.

`make fuzz` tries the same properties on more than a million inputs.
"""

import json
import os
import shutil
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.analysis.filter import Selection
from harness.claims.quantity import read_number
from harness.collection.collection import collect
from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.core.case import matching_ids, split_label, split_list
from harness.core.errors import SeqsweepError, Unsupported
from harness.core.units import parse_bytes, parse_count, parse_seconds
from harness.store.find import all_runs
from harness.store.jsonl import encode, lines
from harness.sweep import config
from tests.collection.test_collection import store_shard
from tests.fuzz.mutate import mutated, other_value, sealed
from tests.stores import RUNS, store_two_runs

MORE = int(os.environ.get("SEQSWEEP_FUZZ", "1"))
CODES = {0, 1, 2, 3, 4, 5}
ROOT = Path(__file__).resolve().parents[2]
READING = (
    ("show",), ("show", "--json"), ("compare", *RUNS), ("runs", "mask"), ("runs",), ("export", "--to", "csv"),
)  # fmt: skip
randoms = st.randoms(use_true_random=False)


def examples(count):
    silent = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.large_base_example]
    return settings(max_examples=count * MORE, deadline=None, suppress_health_check=silent, database=None)


def answer_or_refusal(ask):
    """The answer; None where it is refused in a sentence, and every other error passes."""
    try:
        return ask()
    except (SeqsweepError, Unsupported, ValueError):
        return None


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    results = tmp_path_factory.mktemp("stored") / "results"
    store_two_runs(results)
    return results


@pytest.fixture(scope="module")
def written(stored):
    """Lines of records, and the record of each."""
    records = [record for run in all_runs(stored) for record in run.read().records]
    text = encode([*records, *records])
    return text, {repr(line.record) for line in lines(text.splitlines(keepends=True))}


@examples(10)
@given(randoms)
def test_a_changed_line_is_named_or_the_same_record(written, tried, random):
    text, known = written
    for _ in range(20):
        changed = mutated(random, text).splitlines(keepends=True)
        tried(len(changed))
        for line in lines(changed):
            assert line.problem or repr(line.record) in known


def with_other_line(random, texts):
    """The lines with one changed value under a valid checksum."""
    at = random.randrange(len(texts))
    data = json.loads(texts[at])
    del data["crc32"]
    return [*texts[:at], sealed(other_value(random, data)), *texts[at + 1 :]]


@examples(10)
@given(randoms)
def test_a_sealed_line_with_other_values_is_named_or_a_whole_record(written, tried, random):
    texts = written[0].splitlines()
    for _ in range(20):
        tried(len(texts))
        for line in lines(with_other_line(random, texts)):
            assert line.problem or line.record.to_json()


def call(capsys, words):
    """The command's output, which has no traceback; its exit code is a documented one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = call_app(app, words)
    captured = capsys.readouterr()
    assert code in CODES, words
    assert "Traceback" not in captured.err, (words, captured.err)
    assert "\x1b[2J" not in captured.out + captured.err
    return captured.out


@examples(4)
@given(randoms)
def test_commands_read_changed_runs(stored, tmp_path, capsys, tried, random):
    results = tmp_path / "results"
    shutil.rmtree(results, ignore_errors=True)
    shutil.copytree(stored, results)
    path = random.choice(sorted(path for path in results.rglob("*") if path.is_file()))
    data, whole = path.read_bytes(), random.random() < 0.7
    if path.suffix == ".json" and whole:
        data = json.dumps(other_value(random, json.loads(data))).encode()
    elif path.suffix == ".jsonl" and whole:
        data = b"\n".join(with_other_line(random, data.splitlines())) + b"\n"
    else:
        data = mutated(random, data)
    path.write_bytes(data)
    tried()
    call(capsys, [*random.choice(READING), "--results", str(results)])


@examples(10)
@given(randoms)
def test_bench_yaml_is_read_or_refused(tmp_path, tried, random):
    path = tmp_path / "bench.yaml"
    text = (ROOT / "bench.yaml").read_bytes()
    start = random.randrange(max(1, len(text) - 4000))
    for _ in range(3):
        path.write_bytes(mutated(random, text[:1500] + text[start : start + 1500]))
        tried()
        answer_or_refusal(lambda: config.load(path))


WORDS = st.text(
    st.characters(codec="utf-8") | st.sampled_from("[]=,@:*~.0123456789KiMGse+-_/ \x1b\x00"), max_size=40
)
PARSERS = (
    split_label, split_list, parse_count, parse_bytes, parse_seconds,
    read_number, lambda text: matching_ids([text], ["mask/a@seq=1:fwd:cpu"]),
    lambda text: Selection((), (), (text,), (text,)),
)  # fmt: skip


@examples(50)
@given(st.lists(WORDS, min_size=10, max_size=20))
def test_names_and_quantities_are_parsed_or_refused(tried, words):
    for word in words:
        for parser in PARSERS:
            tried()
            answer_or_refusal(lambda parser=parser, word=word: parser(word))


FLAGS = (
    "--json", "--run", "--seq", "--impl", "--mode", "--device", "--target", "--notes", "--baseline", "--to",
    "--out",
)  # fmt: skip
VALUES = (
    "latest", "latest~1", "4Ki", "1e308Ti", "mask/scatter", "base[k=2]", "fwd", "cpu", "csv", "-", "", "[",
    "*", "..",
)  # fmt: skip
COMMANDS = ("show", "compare", "runs", "export", "report", "list", "chart", "nonsense")


@examples(5)
@given(st.sampled_from(COMMANDS), st.lists(st.sampled_from((*FLAGS, *VALUES)) | WORDS, max_size=5))
def test_command_lines_end_in_a_documented_code(stored, tmp_path, capsys, monkeypatch, tried, command, words):
    monkeypatch.chdir(tmp_path)
    tried()
    safe = [word.replace("/", "_") for word in words]  # files are written here, or not at all
    call(capsys, [command, *safe, "--results", str(stored)])


@examples(3)
@given(randoms)
def test_changed_shards_are_left_out_whole_or_joined_as_they_were(tmp_path, tried, random):
    shutil.rmtree(tmp_path / "in", ignore_errors=True)
    shutil.rmtree(tmp_path / "all", ignore_errors=True)
    folders = [store_shard(tmp_path / "in" / str(index), index).path for index in (1, 2)]
    runs = [run for index in "12" for run in all_runs(tmp_path / "in" / index)]
    known = {repr(record) for run in runs for record in run.read().records}
    path = random.choice(sorted(path for path in folders[0].rglob("*") if path.is_file()))
    path.write_bytes(mutated(random, path.read_bytes()))
    tried()
    answer_or_refusal(lambda: collect([tmp_path / "in" / "1", tmp_path / "in" / "2"], tmp_path / "all"))
    for folder in all_runs(tmp_path / "all"):
        read = folder.read()
        assert {repr(record) for record in read.records} <= known
