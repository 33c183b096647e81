"""The states of the catalogue."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from planner.world.catalogue import load_catalogue
from planner.world.errors import FileError
from planner.world.share import config_dir
from planner.world.states import (
    StateRecord,
    default_state_skills,
    default_states,
    load_state_skills,
    load_states,
    single_handed,
    skills_that_make,
    table_of,
)

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


STATES = """version: 1
states:
  - {name: clean, affordance: cleanable, default: true, words: [clean, dirty]}
  - {name: filled_with, affordance: fillable, values: [tea, water]}
skills:
  - {name: WipeOff, summary: s, doing: wiping, duration_s: 2, SKILL}
"""


def test_a_skill_is_a_primitive_of_its_own() -> None:
    assert default_state_skills()["power_on"].name == "PowerOn"


def test_what_empties_the_hand_makes_it_empty() -> None:
    assert [skill.name for skill in skills_that_make("filled", value=False)] == ["Pour", "Water"]
    assert single_handed("filled", value=False) is None
    cleaner = single_handed("clean", value=True)
    assert cleaner is not None
    assert cleaner.name == "Clean"


def test_what_is_poured_makes_what_it_was() -> None:
    (pour,) = skills_that_make("filled_with_milk", value=True)
    assert pour.name == "Pour"
    assert pour.sets == {"filled": True, "filled_with_milk": True}
    assert pour.needs.hand is not None
    assert pour.needs.hand.states == {"filled": True, "filled_with_milk": True}
    assert [way.name for way in skills_that_make("filled_with_coffee", value=True)] == [
        "Brew",
        "Pour",
    ]


def test_values_are_one_name_each(tmp_path: Path) -> None:
    path = tmp_path / "states.yaml"
    path.write_text(STATES.replace("SKILL", "sets: {filled_with: tea}"))
    assert load_state_skills(path)["wipe_off"].sets == {"filled_with_tea": True}


@pytest.mark.parametrize(
    ("skill", "field", "reason"),
    [
        ("sets: {shiny: true}", "skills.0.sets", "unknown state 'shiny'"),
        ("sets: {filled_with: sand}", "skills.0.sets", "expected one of tea, water, got 'sand'"),
        ("sets: {}", "skills.0.sets", "at least 1"),
        (
            "sets: {clean: true}, needs: {hand: {what: x, states: {wet: true}}}",
            "skills.0.needs.hand.states",
            "unknown state 'wet'",
        ),
        (
            "sets: {clean: true}, needs: {near: [{what: x, affordances: [wet]}]}",
            "skills.0.needs",
            "unknown affordance 'wet'",
        ),
        ("sets: {clean: true}, copies: [clean]", "skills.0.copies", "no several values"),
        ("sets: {clean: true}, takes: 3", "skills.0.takes", "Extra inputs"),
    ],
)
def test_a_wrong_skill_is_refused_by_its_field(
    tmp_path: Path, skill: str, field: str, reason: str
) -> None:
    path = tmp_path / "states.yaml"
    path.write_text(STATES.replace("SKILL", skill))
    with pytest.raises(FileError, match=reason) as caught:
        load_state_skills(path)
    assert (caught.value.file, caught.value.field) == (str(path), field)
