"""The prompts of the roles: LLAMAR-C3 to LLAMAR-C6, LLAMAR-C18 and LLAMAR-C20."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from papers.llamar.actor_role import ActionList, ActorRole, CorrectorRole
from papers.llamar.prompt import PlannerRole, TeamRole, VerifierRole, read_block
from papers.llamar.state import TEAM_NAMES, AgentView, Correction, Situation
from planner.models.chat import Picture, Speaker
from planner.models.gbnf import read_grammar
from planner.models.replies.form import ReplyError

ACTIONS = ActionList("navigate to object <object>\nstay idle\nDone")
STATE = "(1.00, 0.25), facing north, holding nothing"


def situation(count: int = 2, **more: object) -> Situation:
    views = tuple(
        AgentView(
            agent=f"agent_{n}", name=TEAM_NAMES[n], observation=(f"Apple_{n + 1}",), state=STATE
        )
        for n in range(count)
    )
    return Situation(**{"task": "put the apples\nin the fridge", "views": views, **more})  # type: ignore[arg-type]


def actor(count: int = 2, correction: Correction = Correction.SEPARATE) -> ActorRole:
    return ActorRole(TEAM_NAMES[:count], ACTIONS, correction)


def fields(role: TeamRole[object], given: Situation) -> dict[str, str]:
    system, user = role.messages(given)
    assert (system.speaker, user.speaker) == (Speaker.SYSTEM, Speaker.USER)
    lines = user.text.splitlines()
    assert (lines[0], lines[-1]) == ("{", "}")
    assert len(read_block(user.text)) == len(lines) - 2
    return read_block(user.text)


def test_check_3_nothing_is_known_at_first_but_the_actor_has_a_plan() -> None:
    found = fields(PlannerRole(), situation())
    assert found["Robots' open subtasks"] == found["Robots' completed subtasks"] == "None"
    assert found["Robots' combined memory"] == "None"
    planned = situation(open_subtasks=("find the fridge",))
    found = fields(actor(), planned)
    assert found["Robots' open subtasks"] == '["find the fridge"]'
    assert found["Robots' completed subtasks"] == "None"
    assert {found[f"{name}'s previous failures"] for name in ("Alice", "Bob")} == {"None"}


def test_check_4_the_fields_of_the_planner_are_in_the_papers_order() -> None:
    assert list(fields(PlannerRole(), situation())) == [
        "Task",
        "Alice's observation",
        "Bob's observation",
        "Robots' open subtasks",
        "Robots' completed subtasks",
        "Robots' combined memory",
    ]


def test_check_5_the_actor_has_four_lines_of_each_agent_before_the_shared_ones() -> None:
    names = list(fields(actor(3), situation(3)))
    kinds = ("observation", "state", "previous action", "previous failures")
    own = [f"{name}'s {kind}" for name in ("Alice", "Bob", "Charlie") for kind in kinds]
    assert names[:13] == ["Task", *own]
    assert names[13:] == [
        "Robots' open subtasks",
        "Robots' completed subtasks",
        "Robots' subtask",
        "Robots' combined memory",
        "Corrector's failure reason",
        *(f"{name}'s corrective action" for name in ("Alice", "Bob", "Charlie")),
    ]


def test_check_6_who_reads_states_actions_and_failures() -> None:
    kinds = {name.partition("'s ")[2] for name in fields(VerifierRole(), situation())}
    assert {"state", "previous action"} <= kinds
    assert "previous failures" not in kinds
    planner = {name.partition("'s ")[2] for name in fields(PlannerRole(), situation())}
    assert not planner & {"state", "previous action", "previous failures"}


def test_the_corrector_reads_what_the_actor_reads() -> None:
    without = list(fields(actor(correction=Correction.MERGED), situation()))
    assert list(fields(CorrectorRole(("Alice", "Bob"), ACTIONS), situation())) == without
    assert not [name for name in without if "orrect" in name]


def test_check_18_a_remedy_is_in_the_field_of_its_agent() -> None:
    remedies = {"Alice": "NavigateTo(Tomato_1)", "Bob": None}
    found = fields(
        actor(), situation(failure_reason="Alice is too far.", corrective_actions=remedies)
    )
    assert found["Corrector's failure reason"] == "Alice is too far."
    assert found["Alice's corrective action"] == "NavigateTo(Tomato_1)"
    assert found["Bob's corrective action"] == "None"


def test_check_20_a_reply_without_an_agents_action_is_refused() -> None:
    reply = {"failure reason": "None", "memory": "", "reason": "", "subtask": "find it"}
    with pytest.raises(ReplyError, match='no "Bob\'s action"'):
        actor().form(situation()).read(json.dumps({**reply, "Alice's action": "Idle"}), ended=True)


def test_what_an_actor_says_of_failures_depends_on_who_corrects() -> None:
    reply = {"failure reason": "too far", "memory": "a\nb", "reason": "r", "subtask": None}
    text = json.dumps({**reply, "Alice's action": "Done", "Bob's action": "Idle"})
    for correction, reason in (
        (Correction.SEPARATE, "too far"),
        (Correction.MERGED, "too far"),
        (Correction.OFF, ""),
    ):
        role = actor(correction=correction)
        said = role.value(role.form(situation()).read(text, ended=True))
        assert said.failure_reason == reason
        assert said.memory == "a b"
        assert said.actions == {"Alice": "Done", "Bob": "Idle"}
        assert ("failure reason" in role.messages(situation())[0].text) is bool(reason)


def test_the_actions_of_the_moment_may_be_in_the_grammar() -> None:
    role = ActorRole(("Alice",), ACTIONS, Correction.OFF, lambda name: ("stay idle", "Done"))
    grammar = read_grammar(role.form(situation(1)).grammar)
    said = {"memory": "m", "reason": "r", "subtask": None, "Alice's action": "Done"}
    assert grammar.accepts(json.dumps(said, separators=(",", ":")))
    said["Alice's action"] = "fly away"
    assert not grammar.accepts(json.dumps(said, separators=(",", ":")))


def test_pictures_are_sent_in_the_order_of_the_agents() -> None:
    first, second = Picture(b"first"), Picture(b"second")
    alice, bob = situation().views
    seen = situation(views=(replace(alice, picture=first), replace(bob, picture=second)))
    for role in (PlannerRole(), actor(), CorrectorRole(("Alice", "Bob"), ACTIONS), VerifierRole()):
        system, user = role.messages(seen)
        assert user.pictures == (first, second)
        assert "The pictures are of the cameras of Alice and Bob, in this order." in system.text
        assert "picture" not in role.messages(situation())[0].text
