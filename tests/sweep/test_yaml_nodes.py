import sys
from pathlib import Path

import pytest

from harness.core.errors import UsageError
from harness.sweep.yaml_nodes import Listing, Scalar, YamlMapping, read


@pytest.fixture
def parse(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)  # Python's own; torch's compiler raises it for a whole process

    def parse(text):
        Path("bench.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(Path("bench.yaml"))

    yield parse
    sys.setrecursionlimit(limit)


def test_every_key_and_value_has_its_line(parse):
    root = parse("a: 1\nb:\n  - x\n  - y\nc: {d: 4}\n")
    assert isinstance(root, YamlMapping)
    places = {name: entry.where for name, entry in root.entries.items()}
    assert places == {"a": "bench.yaml:1", "b": "bench.yaml:2", "c": "bench.yaml:5"}
    listing = root.entries["b"].node
    assert isinstance(listing, Listing)
    assert [item.where for item in listing.items] == ["bench.yaml:3", "bench.yaml:4"]


@pytest.mark.parametrize(
    ("written", "text", "value"),
    [
        ("8Ki", "8Ki", "8Ki"),
        ("131_072", "131_072", "131_072"),
        ("010", "010", "010"),  # YAML 1.1 reads eight
        ("1:30", "1:30", "1:30"),  # YAML 1.1 reads ninety
        ("2026-01-01", "2026-01-01", "2026-01-01"),
        ("2026-13-45", "2026-13-45", "2026-13-45"),  # no date; the constructor would raise
        ("on", "on", True),
        ("No", "No", False),
        ("'on'", "on", "on"),
        ("~", "~", None),
        ("", "", None),
    ],
)
def test_scalars_keep_their_spelling(parse, written, text, value):
    node = parse(f"key: {written}\n").entries["key"].node
    assert isinstance(node, Scalar)
    assert (node.text, node.value) == (text, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 'bench.yaml:3: duplicate key "a", also in bench.yaml:1'),
        ("a: 1\non: 2\n", "bench.yaml:2: the key on is not text"),
        ("? [a, b]\n: 1\n", "bench.yaml:1: the key a sequence is not text"),
        ("a: 1\nb: [1, 2\nc: 3\n", "bench.yaml:3: not YAML"),
        ("a: 1\nb: *none\n", "bench.yaml:2: not YAML"),
        ("a: 1\n---\nb: 2\n", "bench.yaml:2: not YAML"),
        ("a: 1\nb: !!python/object/apply:os.system [ls]\n", "bench.yaml:2: the tag"),
        ("a: 1\nb: [1, !x [2]]\n", "bench.yaml:2: the tag !x is not supported"),
        ('a: 1\nb: "\\U00110000"\n', "bench.yaml: not YAML (chr() arg not in range"),
        ("a: 1\nb: &x [1, *x]\n", "bench.yaml: not YAML (maximum recursion depth exceeded"),
        ("a: 1\n<<: 5\n", "bench.yaml:2: not YAML (expected a mapping"),
        ("a: 1\nb: \x01\n", "bench.yaml: not YAML (unacceptable character #x0001"),
        ("a: 1\nb: " + "[" * 600 + "]" * 600, "bench.yaml: not YAML (maximum recursion depth"),
        (b"a: 1\nb: 2\nc: \xff\n", "bench.yaml:3: byte 0xff is not UTF-8"),
        ("# only words\n", "bench.yaml:1: the file is empty"),
    ],
)
def test_invalid_yaml_is_reported_with_its_line(parse, text, message):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert str(caught.value).startswith(message)
    assert caught.value.exit_code == 2


def test_merged_mapping_gives_missing_keys(parse):
    root = parse("a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc:\n  <<: [*a, *b]\n  x: 9\n")
    merged = root.entries["c"].node
    assert {name: entry.node.text for name, entry in merged.entries.items()} == {"x": "9", "y": "2", "z": "4"}
    assert merged.entries["z"].where == "bench.yaml:2"


def test_an_alias_is_read_once_however_often_it_is_used(parse):
    layers = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60)]
    root = parse("\n".join(layers))
    assert len(root.entries) == 60  # 2^60 leaves if they were copied


def test_a_file_that_cannot_be_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^none\.yaml: cannot be read \(No such file.*--config"):
        read(Path("none.yaml"))
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path)
