"""Reading instruction files: what is understood, and how broken ones are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_cases import cases

from papers.partnr.episodes.instruction_file import read_instructions
from planner.world.errors import FileError

GOOD = {
    "instruction": "Carry the  lamp to the kitchen.",
    "initial_state": [
        {
            "number": 1,
            "object_classes": ["lamp"],
            "allowed_regions": ["bedroom_1"],
            "furniture_names": ["table_7"],
            "object_states": {"is_powered_off": False},
        },
        {
            "name": "common sense",
            "excluded_object_classes": ["lamp"],
            "exclude_existing_objects": True,
            "number": "3",
            "common_sense_object_classes": True,
            "location": "on",
            "furniture_names": [],
        },
    ],
    "scene_id": "house_one",
    "episode_id": 4,
}


def _write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _changed(**fields: object) -> dict[str, object]:
    return {**GOOD, **fields}


def test_reads_things_clutter_and_states(tmp_path: Path) -> None:
    found = read_instructions(_write(tmp_path / "a.json", [GOOD]))
    assert not found.faults
    (entry,) = found.entries
    assert entry.instruction == "Carry the lamp to the kitchen."
    assert entry.episode_id == "4"
    assert entry.things[0].states == {"powered_on": True}
    assert entry.things[0].regions == ("bedroom_1",)
    assert entry.clutter[0].number == 3


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        (_changed(instruction=""), "0.instruction"),
        (_changed(instruction=None), "0.instruction"),
        (_changed(initial_state=[]), "0."),
        (_changed(initial_furniture_state=[{"furniture_classes": ["table"]}]), "0.initial_furn"),
        (
            _changed(initial_furniture_state=[{"object_states": {"is_clean": False}}]),
            "0.initial_furniture_state.0",
        ),
        (_changed(scene_id="../../etc"), "0.scene_id"),
        (_changed(initial_state=[{"number": 0}]), "0.initial_state.0.number"),
        (_changed(initial_state=[{"number": 10**9}]), "0.initial_state.0.number"),
        (_changed(initial_state=[{"number": 1}]), "0.initial_state.0"),
        ("not an entry", "0."),
    ],
)
def test_a_bad_entry_is_reported_with_its_field_and_hides_no_other(
    tmp_path: Path, entry: object, field: str
) -> None:
    found = read_instructions(_write(tmp_path / "a.json", [entry, _changed(episode_id=5)]))
    assert [e.episode_id for e in found.entries] == ["5"]
    (fault,) = found.faults
    assert fault.file == "a.json"
    assert fault.reason.startswith(field)


def test_unknown_fields_are_noted_and_reject_nothing(tmp_path: Path) -> None:
    records = [{**GOOD["initial_state"][0], "template_task_number": 3}, GOOD["initial_state"][1]]  # type: ignore[index]
    document = _changed(surprise=1, initial_state=records)
    found = read_instructions(_write(tmp_path / "a.json", [document]))
    assert not found.faults
    (entry,) = found.entries
    assert len(entry.things) == len(entry.clutter) == 1
    assert entry.not_taken == (
        "the field 'surprise' is not known",
        "the field 'initial_state.0.template_task_number' is not known",
    )


def test_a_repeated_id_is_a_fault(tmp_path: Path) -> None:
    found = read_instructions(_write(tmp_path / "a.json", [GOOD, GOOD]))
    assert len(found.entries) == 1
    assert "used twice" in found.faults[0].reason


@pytest.mark.parametrize("text", ["", "{", "{}", "3", "[1", '"[]"', "\x00"])
def test_a_file_that_is_no_list_is_one_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"a\.json"):
        read_instructions(path)


def test_a_missing_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(FileError):
        read_instructions(tmp_path / "absent.json")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*GOOD, "number", "object_classes", "furniture_names", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(document=_JSON)
@settings(max_examples=cases(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_gives_faults_or_one_file_error(tmp_path: Path, document: object) -> None:
    path = _write(tmp_path / "fuzz.json", document)
    try:
        found = read_instructions(path)
    except FileError:
        return
    assert isinstance(document, list)
    assert len(found.entries) + len(found.faults) == len(document)


@given(data=st.binary(max_size=200))
@settings(max_examples=cases(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_bytes_raise_nothing_but_file_errors(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "fuzz.json"
    path.write_bytes(data)
    try:
        read_instructions(path)
    except FileError:
        return


def test_deep_nesting_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000 + "]" * 100_000, encoding="utf-8")
    with pytest.raises(FileError):
        read_instructions(path)
