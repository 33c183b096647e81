"""The skills that change states, as the catalogue declares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.world.errors import FileError
from planner.world.state_skills import (
    default_state_skills,
    load_state_skills,
    single_handed,
    skills_that_make,
)

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
