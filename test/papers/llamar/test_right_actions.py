"""What a prompt says to a reader who knows nothing else (LLAMAR-D82)."""

from __future__ import annotations

import pytest

from papers.llamar.actor_role import ActingRole, ActionList, ActorRole, Style
from papers.llamar.prompt import InstanceNames, PlannerRole, TeamRole
from papers.llamar.right_actions import Reading, known_to, reading_of, renewed, stem
from papers.llamar.state import AgentView, Situation
from planner.world.belief import Belief, BeliefNode
from planner.world.vocabulary import EntityKind, Relation

CLASSES = ("apple", "bread", "cup", "fridge", "table")
ACTIONS = ActionList("navigate to object <object_id>")


def node(class_name: str, number: int) -> BeliefNode:
    kind = EntityKind.FURNITURE if class_name in ("fridge", "table") else EntityKind.OBJECT
    openness = 1.0 if class_name == "fridge" else None
    relation = Relation.ON if kind is EntityKind.OBJECT else None
    return BeliefNode(
        f"{class_name}_{number}",
        kind,
        class_name,
        number,
        (0.0, 0.0, 0.0),
        parent="table_4" if relation is not None else "kitchen",
        relation=relation,
        states={"is_clean": True},
        openness=openness,
    )


BELIEF = Belief(0.0, 1, {f"{c}_{i}": node(c, i) for i, c in enumerate(CLASSES)})
INSTANCES = InstanceNames()
INSTANCES.see(BELIEF.nodes.values())
VIEW = AgentView("agent_0", "Alice", ("Apple_1",), "(0.00, 0.00), facing north, holding nothing")
SEEN_BEFORE = Situation("Put the bread away.", (VIEW,), memory="Seen: Bread_1 on Table_1.")


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (ActingRole(Style.ACT, ("Alice",), ACTIONS), {"Apple_1"}),
        (
            ActingRole(Style.ACT, ("Alice",), ACTIONS, ("step 0: Alice: open object Fridge_1",)),
            {"Apple_1", "Fridge_1"},
        ),
        (ActorRole(("Alice",), ACTIONS), {"Apple_1", "Bread_1", "Table_1"}),
        (PlannerRole(), {"Apple_1", "Bread_1", "Table_1"}),
    ],
)
def test_a_reader_knows_what_its_own_prompt_names(
    role: TeamRole[object], expected: set[str]
) -> None:
    """The trace of the baselines has what was acted on; only LLaMAR's memory what was seen."""
    assert reading_of(role, SEEN_BEFORE, INSTANCES).names == expected


def test_names_of_what_nobody_has_seen_are_no_knowledge() -> None:
    situation = Situation("Find the samovar.", (VIEW,), memory="Samovar_1 is in Fridge_9.")
    assert reading_of(PlannerRole(), situation, INSTANCES).names == {"Apple_1"}


def test_a_subtask_that_is_open_again_is_not_said_to_be_done() -> None:
    situation = Situation(
        "Tidy up.", (VIEW,), open_subtasks=("1: a again",), completed_subtasks=("1: a", "2: b")
    )
    assert reading_of(PlannerRole(), situation, INSTANCES).said_done == {"2: b"}


def test_things_that_are_not_named_are_unknown_and_furniture_looks_as_if_never_seen() -> None:
    known = known_to(Reading(frozenset({"Apple_1", "Table_1"})), BELIEF, INSTANCES).nodes
    assert list(known) == ["apple_0", "fridge_3", "table_4"]
    assert known["apple_0"] == BELIEF.nodes["apple_0"]
    assert known["table_4"] == BELIEF.nodes["table_4"]
    assert (known["fridge_3"].openness, known["fridge_3"].states) == (None, {})
    assert BELIEF.nodes["fridge_3"].openness == 1.0


def test_what_is_undone_is_open_again_under_another_text() -> None:
    again = renewed("1: a", {"1: a", "1: a again"})
    assert again == "1: a again again"
    assert stem(again) == "1: a"
