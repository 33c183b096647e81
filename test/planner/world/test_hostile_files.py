"""Files and texts that would exhaust memory, the stack or a person's patience."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import yaml
from crowded_house import crowded_house
from hypothesis import given
from hypothesis import strategies as st

from planner.api import with_instruction
from planner.bench.runs.rows import read_rows
from planner.environment import checked_params_file
from planner.evaluation.trace import read_traces
from planner.models.recorded import RecordedModel, read_dialogue
from planner.replay.foreign import MAX_METADATA_BYTES
from planner.replay.states import read_states
from planner.training.chat_tuning import read_chats
from planner.training.traces.folder import read_shard
from planner.world.bounds import MAX_TEXT_LENGTH
from planner.world.episode import MAX_SIDE_M, Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import (
    MAX_DATA_BYTES,
    MAX_DEPTH,
    MAX_JSON_BYTES,
    MAX_NUMBER_CHARS,
    MAX_VALUES,
    MAX_YAML_BYTES,
    parse_json,
    parse_yaml,
    read_bytes,
    read_document,
    read_lines,
)
from planner.world.house import (
    MAX_CORNERS,
    MAX_PIECE_PARTS,
    MAX_ROOMS,
    MAX_THINGS,
    House,
    write_house,
)
from planner.world.house_checks import MAX_CHECKED, load_episode, load_house
from planner.world.sqlite_file import FileKind, SqliteFile
from sim_bridge.opening import Opened, bare_episode

DEEP = 200_000
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(9)
)
TOO_DEEP = f"is nested too deeply: more than {MAX_DEPTH} levels"
BEYOND = {
    "brackets": ("[" * DEEP, TOO_DEEP),
    "closed brackets": ("[" * DEEP + "]" * DEEP, TOO_DEEP),
    "mappings": ("{a: " * DEEP, TOO_DEEP),
    "dashes": ("- " * DEEP, TOO_DEEP),
    "keys": ("? " * DEEP, TOO_DEEP),
    "indents": ("".join(" " * n + "a:\n" for n in range(70)), TOO_DEEP),
    "laughs": (LAUGHS, f"has more than {MAX_VALUES} values"),
    "in itself": ("a: &a [*a]", "line 1: the alias 'a' holds itself"),
    "base 60": ("a: 1" + ":1" * 100_000, f"line 1: a number has more than {MAX_NUMBER_CHARS}"),
    "tagged": ("a: !!int '1" + ":1" * 100_000 + "'", "line 1: a number has more than"),
    "long": ("a" * (MAX_YAML_BYTES + 1), f"has more than {MAX_YAML_BYTES} characters"),
    "no date": ("a: 2001-99-99", "is not well formed: month must be in 1..12"),
    "no key": ("{[a]: b}", "is not well formed: "),
    "surrogate": ("a: \ud800", "is not well formed: "),
}


@pytest.mark.parametrize(("text", "reason"), BEYOND.values(), ids=BEYOND)
def test_a_yaml_text_beyond_a_limit_is_refused_before_it_is_loaded(text: str, reason: str) -> None:
    with pytest.raises(FileError) as error:
        parse_yaml(text, "f.yaml")
    assert str(error.value).startswith("f.yaml: ")
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * DEEP, TOO_DEEP),
        ("[" * DEEP + "]" * DEEP, TOO_DEEP),
        ('{"a":' * DEEP + "1" + "}" * DEEP, TOO_DEEP),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), TOO_DEEP),
        ("[" + "0," * (2 * MAX_VALUES) + "0]", f"has more than {MAX_VALUES} values"),
        ("1" * 5000, "is not well formed: "),
        ('"' + '\\"' * 100_000, "is not well formed: "),
        (" " * (MAX_JSON_BYTES + 1), f"has more than {MAX_JSON_BYTES} characters"),
    ],
)
def test_a_json_text_beyond_a_limit_is_refused_before_it_is_parsed(text: str, reason: str) -> None:
    with pytest.raises(FileError) as error:
        parse_json(text, "f.json")
    assert str(error.value).startswith(f"f.json: {reason}")


def test_brackets_in_texts_are_no_levels_and_what_is_allowed_is_read() -> None:
    words = '["' + "[{" * 1000 + '\\"[", "\\\\", ' + "[" * 62 + "]" * 62 + "]"
    assert parse_json(words, "f") == json.loads(words)
    flat = "- " * MAX_DEPTH + "x"
    assert parse_yaml(flat, "f") == yaml.safe_load(flat)
    assert parse_yaml("a: &a {b: 1}\nc: {<<: *a, d: *a}", "f") == {
        "a": {"b": 1},
        "c": {"b": 1, "d": {"b": 1}},
    }
    assert parse_yaml('""', "f") == ""
    assert parse_yaml("", "f") is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON)
def test_every_document_within_the_limits_is_read_as_it_was_written(document: object) -> None:
    assert parse_json(json.dumps(document), "f") == document
    written = yaml.safe_dump(document)
    assert parse_yaml(written, "f") == yaml.safe_load(written)


@given(st.text(alphabet="[]{}:,-?&*a1\" \n\\|>!~#%'", max_size=60) | st.text(max_size=60))
def test_every_text_gives_a_document_or_one_error(text: str) -> None:
    for parse in (parse_json, parse_yaml):
        said = ""
        try:
            parse(text, "f")
        except FileError as error:
            said = str(error)
        assert said == "" or said.startswith("f: ")


@given(st.integers(1, 200), st.sampled_from(["[]", '{"a":}', "{}"]))
def test_depth_is_counted_exactly(depth: int, sort: str) -> None:
    begin, end = (sort[:-1], sort[-1]) if len(sort) > 2 else ("[", "]")
    text = begin * depth + "1" + end * depth
    if depth <= MAX_DEPTH:
        assert parse_json(text, "f") == json.loads(text)
        return
    with pytest.raises(FileError, match="nested too deeply"):
        parse_json(text, "f")


@pytest.mark.parametrize("name", ["f.json", "f.yaml"])
def test_only_a_regular_file_of_its_size_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    for other in (path, tmp_path, Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(FileError) as error:
            read_document(other)
        assert str(error.value) == f"{other}: cannot be read: it is not a regular file"
    path.unlink()
    limit = MAX_JSON_BYTES if name == "f.json" else MAX_YAML_BYTES
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(FileError) as error:
        read_document(path)
    assert str(error.value) == f"{path}: has more than {limit} bytes"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/none\0.json", "embedded null byte"),
        ("/" + "x" * 5000 + ".json", "File name too long"),
        ("/\ud800\udfff.json", "surrogates not allowed"),
        ("/none.json", "No such file"),
    ],
)
def test_a_path_that_cannot_be_opened_is_one_error(path: str, reason: str) -> None:
    with pytest.raises(FileError, match=reason):
        read_document(Path(path))


def test_a_file_without_a_size_is_limited_as_it_is_read() -> None:
    with pytest.raises(FileError, match="has more than 10 bytes"):
        read_bytes(Path("/proc/self/status"), 10)


def _deep_line(path: Path) -> None:
    path.write_text("[" * DEEP + "\n")


def _endless_line(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(10 << 30)


LINES: dict[str, Callable[[Path], Iterable[object]]] = {
    "traces": read_traces,
    "states": read_states,
    "rows": read_rows,
    "chats": lambda path: read_chats([path]),
    "shard": read_shard,
    "dialogue": lambda path: [read_dialogue(path)],
    "recording": lambda path: [RecordedModel(path)],
}


@pytest.mark.parametrize("read", LINES.values(), ids=LINES)
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "cannot be read: it is not a regular file"),
        (Path.mkdir, "cannot be read: it is not a regular file"),
        (_deep_line, "line 1"),
        (_endless_line, f"has more than ({MAX_JSON_BYTES}|{MAX_DATA_BYTES}) bytes"),
    ],
)
def test_a_file_of_lines_has_limits(
    tmp_path: Path,
    read: Callable[[Path], Iterable[object]],
    make: Callable[[Path], object],
    reason: str,
) -> None:
    path = tmp_path / "lines.jsonl"
    make(path)
    with pytest.raises(FileError, match=reason):
        list(read(path))


def test_lines_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes("a\u2028b\r\n\nlast".encode())
    assert list(read_lines(path)) == ["a\u2028b\r\n".encode(), b"\n", b"last"]


def test_a_database_is_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(FileError, match="cannot be opened: it is not a regular file"):
            SqliteFile(path, FileKind("a store", 1, 1, "CREATE TABLE a (b);\n"))


def test_an_instruction_without_end_is_refused(small_house: House) -> None:
    opened = Opened(small_house, bare_episode(small_house, 1), 0)
    with pytest.raises(PlannerError, match="has 1000000 characters, more than 10000"):
        with_instruction(opened, "x" * 1_000_000)


def test_a_parameter_file_has_the_same_limits(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("[" * DEEP)
    with pytest.raises(PlannerError, match="nested too deeply"):
        checked_params_file(str(path))
    with pytest.raises(PlannerError, match="not a regular file"):
        checked_params_file("/dev/zero")


@pytest.mark.parametrize(
    ("pieces", "reason"),
    [
        (20_000, "furniture: Tuple should have at most 5000 items"),
        (MAX_CHECKED + 1, f"furniture: has {MAX_CHECKED + 1} entries, more than {MAX_CHECKED}"),
    ],
)
def test_a_crowded_house_is_refused_before_it_is_checked(
    tmp_path: Path, pieces: int, reason: str
) -> None:
    path = tmp_path / "house.json"
    path.write_text(json.dumps(crowded_house(pieces)))
    with pytest.raises(FileError) as error:
        load_house(path)
    assert str(error.value).startswith(f"{path}: {reason}")


def test_a_house_without_end_is_refused_before_its_floor_is_searched(tmp_path: Path) -> None:
    document = crowded_house(1)
    document["rooms"][0]["polygon_m"] = [[0, 0], [1e6, 0], [1e6, 1e6], [0, 1e6]]
    path = tmp_path / "house.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileError, match="the house is larger than 150 m"):
        load_house(path)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("instruction", "x" * 1_000_000, "instruction: String should have at most 10000"),
        ("objects", 3_000, f"objects: has 3000 entries, more than {MAX_CHECKED}"),
        ("objects", 6_000, "objects: Tuple should have at most 5000 items"),
    ],
)
def test_a_crowded_episode_is_refused_before_it_is_checked(
    tmp_path: Path,
    small_house: House,
    small_episode: Episode,
    field: str,
    value: str | int,
    reason: str,
) -> None:
    write_house(small_house, tmp_path / "house.json")
    content = crowded_house(value)["objects"] if isinstance(value, int) else value
    document = {**small_episode.model_dump(mode="json"), "house": "house.json", field: content}
    path = tmp_path / "episode.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileError) as error:
        load_episode(path)
    assert str(error.value).startswith(f"{path}: {reason}")


def test_the_limits_are_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "robustness.md").read_text("utf-8")
    table = page.partition("## Limits of files and texts")[2].partition("\n## ")[0]
    bytes_ = [MAX_JSON_BYTES, MAX_YAML_BYTES, MAX_DATA_BYTES, MAX_METADATA_BYTES]
    counts = [MAX_DEPTH, MAX_VALUES, MAX_NUMBER_CHARS, MAX_TEXT_LENGTH, int(MAX_SIDE_M)]
    counts += [MAX_ROOMS, MAX_CORNERS, MAX_THINGS, MAX_PIECE_PARTS, MAX_CHECKED]
    for said in [*(f"{limit:,} bytes" for limit in bytes_), *(f"{limit:,}" for limit in counts)]:
        assert said in table, said
