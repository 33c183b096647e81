"""The states of the catalogue."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from planner.world.catalogue import load_catalogue
from planner.world.errors import FileError
from planner.world.share import config_dir
from planner.world.states import StateRecord, default_states, load_states, table_of

TEA = StateRecord(name="filled_with", affordance="fillable", values=("tea", "water"))


def test_partnr_states_have_its_defaults_and_predicates() -> None:
    table = default_states()
    assert table.initial(["cleanable", "fillable", "powerable"]) == {
        "clean": True,
        "filled": False,
        "powered_on": False,
    }
    assert table.predicates["is_dirty"] == ("clean", False)
    assert table.predicates["is_powered_off"] == ("powered_on", False)


def test_one_of_several_values_takes_the_place_of_another() -> None:
    table = table_of([TEA])
    tea = table.initial(["fillable"], {"filled_with_tea": True})
    assert tea == {"filled_with_tea": True}
    assert table.changed(tea, "filled_with_water", value=True) == {"filled_with_water": True}
    assert table.changed(tea, "filled_with_tea", value=False) == {}
    assert table.initial(["cleanable"], {"filled_with_tea": True}) == {}


def test_a_file_says_which_value() -> None:
    assert table_of([TEA]).normal({"filled_with": "tea"}) == {"filled_with_tea": True}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"tidy": True}, "unknown state 'tidy'"),
        ({"filled_with": "sand"}, "filled_with: expected one of tea, water, got 'sand'"),
        ({"filled_with": True}, "filled_with: expected one of tea, water, got True"),
    ],
)
def test_an_unknown_state_or_value_is_refused(given: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        table_of([TEA]).normal(given)


@pytest.mark.parametrize(
    ("record", "field", "reason"),
    [
        ("{name: wet, affordance: wettable}", "states.0", "either words"),
        ("{name: wet, affordance: wettable, words: [wet, dry], values: [a]}", "states.0", "either"),
        ("{name: wet, affordance: wettable, words: [wet, wet]}", "states", "the word 'wet'"),
        ("{name: Wet, affordance: wettable, words: [wet, dry]}", "states.0.name", "pattern"),
    ],
)
def test_a_wrong_record_is_refused_by_its_field(
    tmp_path: Path, record: str, field: str, reason: str
) -> None:
    path = tmp_path / "states.yaml"
    path.write_text(f"version: 1\nstates:\n  - {record}\n")
    with pytest.raises(FileError, match=reason) as caught:
        load_states(path)
    assert (caught.value.file, caught.value.field) == (str(path), field)


@pytest.mark.slow
def test_a_state_on_a_class_that_has_none_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(config_dir() / "catalogue", tmp_path / "catalogue"))
    path = folder / "objects.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("    size_m:", "    states: {powered_on: true}\n    size_m:", 1))
    with pytest.raises(FileError, match="cup has no state powered_on") as caught:
        load_catalogue(folder)
    assert (caught.value.file, caught.value.field) == (str(path), "classes.0.states.powered_on")
