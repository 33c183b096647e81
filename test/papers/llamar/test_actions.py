"""The paper's actions: spellings, what is admissible, calls and failures."""

from __future__ import annotations

import pytest

from papers.llamar.actions import (
    DONE,
    EXPLORE,
    IDLE,
    INTERACTIONS,
    RESCUES,
    Action,
    ActionError,
    Category,
    KnownThing,
    Verb,
    admissible,
    known_thing,
    parse_action,
)
from papers.llamar.team import (
    Failure,
    RefusedActionError,
    call_for,
    failure_of,
    not_understood,
    outcome_words,
)
from planner.parts.calls import parse_call
from planner.world.belief import BeliefNode
from planner.world.house import House
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import EntityKind, Relation

APPLE = KnownThing(
    "Apple_1", "apple_13", "apple", is_movable=True, affordances=frozenset({"sliceable"})
)
FRIDGE = KnownThing(
    "Fridge_1", "fridge_0", "fridge", is_movable=False, opens=True, puts=Relation.WITHIN
)
TABLE = KnownThing("Table_1", "table_0", "table", is_movable=False, puts=Relation.ON)
KNOWN = {thing.name: thing for thing in (APPLE, FRIDGE, TABLE)}


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("NavigateTo(Apple_1)", Action(Verb.NAVIGATE_TO, "Apple_1")),
        ("navigate to object Apple_1", Action(Verb.NAVIGATE_TO, "Apple_1")),
        ("PickupObject[Apple_1]", Action(Verb.PICKUP, "Apple_1")),
        ("'pick up object <Apple_1>'", Action(Verb.PICKUP, "Apple_1")),
        ("Pickup(<Apple_1>)", Action(Verb.PICKUP, "Apple_1")),
        ("move in ahead direction", Action(Verb.MOVE, "Ahead")),
        ("Rotate(right).", Action(Verb.ROTATE, "Right")),
        ("look down by angle 30", Action(Verb.LOOK_DOWN, "30")),
        ("toggle object Lamp_1 off", Action(Verb.TOGGLE_OFF, "Lamp_1")),
        ("put object on Fridge_1", Action(Verb.PUT, "Fridge_1")),
        ("put object in Fridge_1", Action(Verb.PUT, "Fridge_1", Relation.WITHIN)),
        ("Put(Fridge_1, on)", Action(Verb.PUT, "Fridge_1", Relation.ON)),
        ("Stay idle", IDLE),
        ("Done", DONE),
        ("explore", EXPLORE),
        ("", None),
        ("I am done with it", None),
        ("NavigateTo()", None),
        ("Idle(3)", None),
        ("x" * 100_000, None),
    ],
)
def test_both_spellings_are_read(text: str, action: Action | None) -> None:
    """LLAMAR-3.1."""
    if action is None:
        with pytest.raises(ActionError):
            parse_action(text)
    else:
        assert parse_action(text) == action


@pytest.mark.parametrize("action", admissible([APPLE, FRIDGE, TABLE]))
def test_every_admissible_action_is_read_as_it_is_written(action: Action) -> None:
    assert parse_action(str(action)) == action
    assert parse_action(action.words) == action


def test_llamar_check_26_an_angle_that_there_is_not_is_refused() -> None:
    """LLAMAR-C26."""
    with pytest.raises(ActionError, match="LookUp takes one of 30, 60, 90, 120, 150, 180"):
        parse_action("LookUp(45)")


def test_admissible_are_the_actions_on_what_is_known_and_those_on_nothing() -> None:
    listed = admissible([APPLE, FRIDGE, TABLE])
    assert Action(Verb.PICKUP, "Apple_1") in listed
    assert Action(Verb.PICKUP, "Fridge_1") not in listed
    assert Action(Verb.OPEN, "Fridge_1") in listed
    assert Action(Verb.OPEN, "Table_1") not in listed
    assert Action(Verb.PUT, "Table_1") in listed
    assert Action(Verb.SLICE, "Apple_1") in listed
    assert len(set(listed)) == len(listed)
    plain = admissible([], small_steps=False, explores=False)
    assert plain == (IDLE, DONE)
    assert len(admissible([])) == 4 + 2 + 6 + 6 + 3


def test_every_verb_has_one_category() -> None:
    found = {verb: verb.category for verb in Verb}
    assert [v for v, c in found.items() if c is Category.INTERACTION] == [
        *INTERACTIONS,
        *RESCUES,
    ]
    assert [v for v, c in found.items() if c is Category.EXPLORATION] == [Verb.EXPLORE]
    assert found[Verb.LOOK_UP] is Category.NAVIGATION
    assert found[Verb.IDLE] is found[Verb.DONE] is Category.NONE


@pytest.mark.parametrize(
    ("action", "held", "call"),
    [
        ("NavigateTo(Apple_1)", (), "NavigateTo[apple_13]"),
        ("Pickup(Apple_1)", (), "PickupObject[apple_13]"),
        ("Put(Fridge_1)", ("apple_13",), "PutObject[apple_13, within, fridge_0, None, None]"),
        ("Put(Fridge_1, on)", ("apple_13",), "PutObject[apple_13, on, fridge_0, None, None]"),
        ("Put(Table_1)", ("apple_13",), "PutObject[apple_13, on, table_0, None, None]"),
        ("Slice(Apple_1)", (), "SliceObject[apple_13]"),
        ("Open(Fridge_1)", (), "OpenObject[fridge_0]"),
        ("Move(Left)", (), "Move[Left]"),
        ("LookUp(60)", (), "LookUp[60]"),
        ("Idle", (), "Wait[]"),
        ("Done", (), "Done[]"),
    ],
)
def test_actions_are_calls(action: str, held: tuple[str, ...], call: str) -> None:
    made = call_for(parse_action(action), KNOWN, held)
    assert str(made) == call
    assert parse_call(str(made)) == made


def test_exploring_takes_the_open_subtasks() -> None:
    made = call_for(EXPLORE, KNOWN, subtasks=["find the [red] cup", "open; it", " "])
    assert str(made) == "ExploreByView[find the red cup; open it]"


def test_llamar_checks_21_and_22_only_what_was_seen_is_navigated_to() -> None:
    """LLAMAR-C21, LLAMAR-C22: what one robot has seen is all that it knows in that mode."""
    action = Action(Verb.NAVIGATE_TO, "Tomato_1")
    with pytest.raises(RefusedActionError) as refused:
        call_for(action, KNOWN)
    assert refused.value.result.code is SkillCode.UNKNOWN_ENTITY
    assert failure_of(action, refused.value.result) is Failure.UNKNOWN_OBJECT
    of_team = {**KNOWN, "Tomato_1": KnownThing("Tomato_1", "tomato_0", "tomato", is_movable=True)}
    assert str(call_for(action, of_team)) == "NavigateTo[tomato_0]"


def test_what_cannot_be_is_refused_before_anybody_moves() -> None:
    for text, failed in (
        ("Pickup(Table_1)", Failure.NOT_APPLICABLE),
        ("Open(Apple_1)", Failure.NOT_APPLICABLE),
        ("Put(Fridge_1)", Failure.NOTHING_HELD),
    ):
        action = parse_action(text)
        with pytest.raises(RefusedActionError) as refused:
            call_for(action, KNOWN)
        assert failure_of(action, refused.value.result) is failed


@pytest.mark.parametrize(
    ("action", "code", "failed"),
    [
        ("NavigateTo(Apple_1)", SkillCode.UNREACHABLE, Failure.NO_PATH),
        ("NavigateTo(Apple_1)", SkillCode.TOO_FAR, Failure.NOT_INTERACTABLE),
        ("Pickup(Apple_1)", SkillCode.TOO_FAR, Failure.TOO_FAR),
        ("Pickup(Apple_1)", SkillCode.NOT_VISIBLE, Failure.NOT_VISIBLE),
        ("Pickup(Apple_1)", SkillCode.ALREADY_HOLDING, Failure.HAND_FULL),
        ("Put(Fridge_1)", SkillCode.FURNITURE_CLOSED, Failure.CLOSED),
        ("Put(Table_1)", SkillCode.NO_PLACEMENT, Failure.NO_SPACE),
        ("Open(Fridge_1)", SkillCode.NEED_UNMET, Failure.WRONG_STATE),
        ("Slice(Apple_1)", SkillCode.NEED_UNMET, Failure.NOT_APPLICABLE),
        ("Move(Ahead)", SkillCode.BLOCKED, Failure.COLLISION),
        ("Clean(Table_1)", SkillCode.BACKEND_FAULT, Failure.FAULT),
    ],
)
def test_failures_have_the_papers_classes(action: str, code: SkillCode, failed: Failure) -> None:
    result = SkillResult.failure(code, "That is why.")
    assert failure_of(parse_action(action), result) is failed
    words = outcome_words(parse_action(action), result)
    assert words == f"{parse_action(action).words}: failed ({failed}). That is why."


def test_a_success_and_what_was_not_understood_are_told() -> None:
    assert outcome_words(IDLE, SkillResult.success()) == "stay idle: success"
    result = not_understood("fly\nto  the moon" + "!" * 500)
    assert "not understood: 'fly to the moon!" in result.text
    assert len(result.text) < 200


@pytest.mark.parametrize(
    ("entity", "openness", "puts"),
    [
        ("table_0", None, Relation.ON),
        ("cabinet_0", 0.0, Relation.WITHIN),
        ("cabinet_0", 1.0, Relation.WITHIN),
        ("chest_of_drawers_0", 0.0, Relation.ON),
        ("chest_of_drawers_0", 1.0, Relation.WITHIN),
        ("bowl_0", None, Relation.WITHIN),
        ("book_0", None, None),
    ],
)
def test_put_goes_where_things_are_kept(
    small_house: House, entity: str, openness: float | None, puts: Relation | None
) -> None:
    """LLAMAR-D22."""
    class_name = entity.rpartition("_")[0]
    is_thing = class_name in ("bowl", "book")
    kind = EntityKind.OBJECT if is_thing else EntityKind.FURNITURE
    node = BeliefNode(entity, kind, class_name, 1, (0.0, 0.0, 0.0), openness=openness)
    known = known_thing("X_1", node, small_house)
    assert known.puts is puts
    assert known.is_movable is is_thing
    assert known.opens is (class_name in ("cabinet", "chest_of_drawers"))
