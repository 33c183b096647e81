"""LLaMAR's checklist: its grammar, and what is refused (LLAMAR-D40)."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from planner.world.episode import Act, Checklist, Subtask, parse_subtask


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NavigateTo(bread_0)", Subtask(Act.NAVIGATE, ("bread_0",))),
        ("PutObject(Fridge, Bread)", Subtask(Act.PUT, ("Fridge",), ("Bread",))),
        ("PutObject(table_0|table_1, cup_0|cup_1)",
         Subtask(Act.PUT, ("table_0", "table_1"), ("cup_0", "cup_1"))),
        ("ToggleObjectOff(floor_lamp_1)", Subtask(Act.TOGGLE_OFF, ("floor_lamp_1",))),
    ],
)  # fmt: skip
def test_a_subtask_is_read_and_written(text, found) -> None:
    assert parse_subtask(text) == found
    assert str(found) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NavigateTo bread_0", "is not a subtask"),
        ("NavigateTo()", "is not a subtask"),
        ("NavigateTo(a, b, c)", "is not a subtask"),
        ("Juggle(bread_0)", "unknown act Juggle"),
        ("PickupObject(bread_0, cup_0)", "does not depend on what is held"),
        ("PutObject(fridge_0)", "needs what is put"),
    ],
)
def test_anything_else_is_refused_with_its_reason(text, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_subtask(text)


def checklist(**changes: object) -> Checklist:
    given = {
        "ambiguity": 1,
        "subtasks": ["NavigateTo(cup_0)", "PutObject(table_0,cup_0)"],
        "targets": [["cup_0"], ["table_0"]],
    }
    return Checklist.model_validate({**given, **changes})


def test_an_entry_may_be_there_several_times() -> None:
    assert len(checklist(subtasks=["OpenObject(a)"] * 3).items()) == 3


def test_a_checklist_is_written_in_one_way() -> None:
    assert checklist().subtasks[1] == "PutObject(table_0, cup_0)"
    assert checklist().items()[1].held == ("cup_0",)


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"ambiguity": 5}, "ambiguity", "1, 2, 3 or 4"),
        ({"subtasks": []}, "subtasks", "at least 1"),
        ({"subtasks": ["Juggle(a)"]}, "subtasks", "unknown act"),
        ({"targets": []}, "targets", "at least 1"),
        ({"targets": [[]]}, "targets", "at least 1"),
        ({"kind": 1}, "kind", "not permitted"),
    ],
)
def test_a_bad_checklist_names_field_and_reason(changes, field, reason) -> None:
    with pytest.raises(ValidationError) as caught:
        checklist(**changes)
    assert field in str(caught.value)
    assert reason in str(caught.value)
