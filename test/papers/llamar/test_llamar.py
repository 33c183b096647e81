"""LLaMAR's loop with a scripted model: LLAMAR-C1 to LLAMAR-C22, LLAMAR-C29 and LLAMAR-C40."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping

import pytest
from llamar_toys import (
    OPEN,
    Kitchen,
    Literal,
    RoleScript,
    Script,
    acted,
    corrected,
    planned,
    verified,
)

from papers.llamar.joint_planner import Asking, JointPlanner
from papers.llamar.llamar import LlamarOptions, make_llamar
from papers.llamar.state import Correction
from papers.llamar.team import ActionOptions
from planner.models.caller import ModelCall
from planner.models.chat import ModelError, Role
from planner.planning.planner import Decision, Task
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.topics import InstructionCode

PLANNER, ACTOR, CORRECTOR, VERIFIER = Role.PLANNER, Role.ACTOR, Role.CORRECTOR, Role.VERIFIER
TASK = Task("Put the apple in the fridge.", ("agent_0", "agent_1"))
WALK = acted(Alice="NavigateTo(Apple_1)", Bob="stay idle")
PICK = acted(Alice="Pickup(Apple_1)", Bob="NavigateTo(Fridge_1)")
DONE = acted(Alice="Done", Bob="Done")
NOTHING = corrected(Alice=None, Bob=None)


def model(**scripts: Script) -> RoleScript:
    usual: Mapping[str, Script] = {
        "planner": [planned(OPEN)],
        "actor": [WALK],
        "corrector": [NOTHING],
        "verifier": [verified()],
    }
    return RoleScript(**{**usual, **scripts})


def made(
    script: RoleScript, options: LlamarOptions | None = None, task: Task = TASK
) -> JointPlanner:
    return make_llamar(task, Asking("llamar", script, task.agents), Literal(), options)


def play(kitchen: Kitchen, script: RoleScript, options: LlamarOptions | None = None) -> Decision:
    return kitchen.run(made(script, options), TASK)


def subtasks(decision: Decision) -> tuple[list[str], list[str]]:
    found = decision.evidence
    return json.loads(found["open_subtasks"]), json.loads(found["completed_subtasks"])


def test_check_1_a_step_plans_acts_corrects_and_verifies(kitchen: Kitchen) -> None:
    order: list[str] = []

    def says(role: Role, *replies: str) -> Script:
        left = iter(replies)

        def reply(fields: Mapping[str, str]) -> str:
            order.append(role.value)
            return next(left)

        return reply

    def acts(agent: str, call: SkillCall) -> None:
        order.append(agent)

    kitchen.fault = acts
    script = model(
        planner=says(PLANNER, *[planned(OPEN)] * 2),
        actor=says(ACTOR, WALK, WALK),
        corrector=says(CORRECTOR, NOTHING, NOTHING),
        verifier=says(VERIFIER, verified(), verified(OPEN)),
    )
    end = play(kitchen, script)
    assert order == ["planner", "actor", "agent_0", "agent_1", "corrector", "verifier"] * 2
    assert script.fields(ACTOR)[0]["Alice's previous action"] == "None"
    assert "success" in script.fields(CORRECTOR)[0]["Alice's previous action"]
    assert [str(call) for call in end.calls.values()] == ["Done[]", "Done[]"]


@pytest.mark.parametrize(("correction", "calls"), [("separate", 4), ("merged", 3), ("off", 3)])
def test_check_2_modes_differ_in_calls_not_in_actions(
    kitchen: Kitchen, correction: str, calls: int
) -> None:
    script = model(actor=[WALK, PICK])
    play(kitchen, script, LlamarOptions(correction=Correction(correction), horizon=5))
    assert len(script.roles) == 5 * calls
    assert kitchen.log == [
        ("agent_0", "NavigateTo[apple_13]"),
        ("agent_1", "Wait[]"),
        *[("agent_0", "PickupObject[apple_13]"), ("agent_1", "NavigateTo[fridge_0]")] * 4,
    ]


def test_check_3_the_first_prompts(kitchen: Kitchen) -> None:
    script = model(verifier=[verified(OPEN)])
    play(kitchen, script)
    first = script.fields(PLANNER)[0]
    assert first["Robots' open subtasks"] == first["Robots' completed subtasks"] == "None"
    acting = script.fields(ACTOR)[0]
    assert json.loads(acting["Robots' open subtasks"]) == [OPEN]
    assert acting["Robots' completed subtasks"] == "None"
    assert [acting[f"{name}'s previous failures"] for name in ("Alice", "Bob")] == ["None"] * 2


def test_check_7_what_is_completed_does_not_open_again(kitchen: Kitchen) -> None:
    script = model(
        planner=[planned("find a cup", OPEN), planned(OPEN.capitalize() + ".", "find a cup")],
        verifier=[verified(OPEN)],
    )
    play(kitchen, script, LlamarOptions(horizon=2))
    assert subtasks(kitchen.decisions[1]) == (["find a cup"], [OPEN])


def test_checks_8_to_10_completed_subtasks_only_grow_by_open_ones(kitchen: Kitchen) -> None:
    script = model(
        planner=[planned("Z", "B"), planned("A", "B")],
        verifier=[verified("Z"), verified("A", "never open"), verified(), verified()],
    )
    play(kitchen, script, LlamarOptions(horizon=4))
    after = [subtasks(decision) for decision in kitchen.decisions]
    assert after[1] == (["A", "B"], ["Z"])
    assert after[2] == (["B"], ["Z", "A"])
    assert after[3] == after[4] == (["B"], ["Z", "A"])
    assert json.loads(script.fields(VERIFIER)[2]["Robots' completed subtasks"]) == ["Z", "A"]


def test_check_11_nothing_open_ends_the_loop(kitchen: Kitchen) -> None:
    script = model(verifier=[verified(), verified(OPEN)])
    end = play(kitchen, script)
    assert (end.thought, end.evidence["joint_steps"]) == ("no subtask is open", "2")
    assert script.roles.count(PLANNER) == 2


def test_the_planner_may_confirm_that_nothing_is_open(kitchen: Kitchen) -> None:
    script = model(
        planner=[planned(OPEN), planned("find a cup"), planned()],
        verifier=[verified(OPEN), verified(OPEN, "find a cup")],
    )
    calls: list[ModelCall] = []
    asking = Asking("llamar", script, TASK.agents, on_call=calls.append)
    options = LlamarOptions(confirm_empty=True)
    end = kitchen.run(make_llamar(TASK, asking, Literal(), options), TASK)
    # The Planner's answer belongs to the step that it confirms.
    assert [call.cycle for call in calls] == [1, 1, 1, 1, 1, 2, 2, 2, 2]
    assert script.roles == [
        *(PLANNER, ACTOR, CORRECTOR, VERIFIER),
        *(PLANNER, ACTOR, CORRECTOR, VERIFIER),
        PLANNER,
    ]
    assert end.evidence["joint_steps"] == "2"
    assert subtasks(end) == ([], [OPEN, "find a cup"])


def test_a_plan_of_nothing_may_have_to_be_confirmed(kitchen: Kitchen) -> None:
    # With the second plan the task goes on; the third, of the next step, is confirmed by a fourth.
    script = model(planner=[planned(), planned(OPEN), planned()], actor=[WALK, PICK])
    end = play(kitchen, script, LlamarOptions(confirm_empty=True))
    assert script.roles == [
        *(PLANNER, PLANNER, ACTOR, CORRECTOR, VERIFIER),
        *(PLANNER, PLANNER, ACTOR, CORRECTOR, VERIFIER),
        PLANNER,
    ]
    assert (end.thought, end.evidence["joint_steps"]) == ("no subtask is open", "2")


def test_done_of_all_may_be_refused_while_something_is_open(kitchen: Kitchen) -> None:
    script = model(actor=[WALK, DONE, PICK, DONE], verifier=[verified(), verified(OPEN)])
    calls: list[ModelCall] = []
    asking = Asking("llamar", script, TASK.agents, on_call=calls.append)
    options = LlamarOptions(confirm_done=True)
    end = kitchen.run(make_llamar(TASK, asking, Literal(), options), TASK)
    assert kitchen.log[2] == ("agent_0", "PickupObject[apple_13]")
    assert (end.thought, end.evidence["joint_steps"]) == ("no subtask is open", "2")
    # The refused reply is in the trace, and the Actor was told why it was asked again.
    why = f"all agents are done, but subtasks are open: {OPEN}"
    refused = [call.error for call in calls if call.role == ACTOR]
    assert refused == ["", f"refused: {why}", ""]
    assert f"That is not taken: {why}." in script.messages(ACTOR)[2][-1].text


def test_an_actor_that_only_says_done_makes_all_wait(kitchen: Kitchen) -> None:
    end = play(kitchen, model(actor=[DONE]), LlamarOptions(confirm_done=True, horizon=2))
    assert end.end is InstructionCode.CALL_LIMIT
    assert end.evidence["unread_replies"] == "2"
    assert {call for _, call in kitchen.log} == {"Wait[]"}


def test_check_12_the_horizon_is_thirty_joint_steps(kitchen: Kitchen) -> None:
    end = play(kitchen, model())
    assert end.end is InstructionCode.CALL_LIMIT
    assert end.failure == "planner limit: 30 joint steps"
    assert end.evidence["joint_steps"] == "30"
    assert len(kitchen.log) == 30 * 2


def test_check_13_done_of_all_ends_the_task(kitchen: Kitchen) -> None:
    end = play(kitchen, model(actor=[WALK, DONE]))
    assert not end.failure
    assert [str(call) for call in end.calls.values()] == ["Done[]", "Done[]"]
    # What it believes to be open shows that nobody verified it: the evaluator decides.
    assert subtasks(end) == ([OPEN], [])
    assert end.evidence["joint_steps"] == "2"


def test_check_14_done_of_one_does_not(kitchen: Kitchen) -> None:
    script = model(actor=[acted(Alice="Done", Bob="NavigateTo(Fridge_1)"), WALK, DONE])
    play(kitchen, script)
    assert kitchen.log[:3] == [
        ("agent_0", "Wait[]"),
        ("agent_1", "NavigateTo[fridge_0]"),
        ("agent_0", "NavigateTo[apple_13]"),
    ]


def test_check_16_one_agents_failure_is_its_own(kitchen: Kitchen) -> None:
    failing = kitchen.failing("agent_0")
    script = model(actor=[PICK])
    play(failing, script, LlamarOptions(horizon=2))
    assert ("agent_1", "NavigateTo[fridge_0]") in failing.log
    second = script.fields(ACTOR)[1]
    assert "too far" in second["Alice's previous action"]
    assert "Apple_1 is too far away." in second["Alice's previous action"]
    assert json.loads(second["Alice's previous failures"]) == [second["Alice's previous action"]]
    assert "success" in second["Bob's previous action"]
    assert second["Bob's previous failures"] == "None"


def test_failures_are_kept_until_the_next_success(kitchen: Kitchen) -> None:
    fails = iter([True, True, False, True])

    def fault(agent: str, call: SkillCall) -> SkillResult | None:
        if agent == "agent_1" or not next(fails, False):
            return None
        return SkillResult.failure(SkillCode.UNREACHABLE, "There is no way.")

    kitchen.fault = fault
    script = model(actor=[PICK])
    play(kitchen, script, LlamarOptions(horizon=5))
    counts = [f["Alice's previous failures"].count("no path") for f in script.fields(ACTOR)]
    assert counts == [0, 1, 2, 0, 1]


def test_check_17_without_failures_the_corrector_may_be_left_out(kitchen: Kitchen) -> None:
    script = model()
    play(kitchen, script, LlamarOptions(skip_on_success=True, horizon=2))
    assert CORRECTOR not in script.roles
    second = script.fields(ACTOR)[1]
    assert {second[f"{name}'s corrective action"] for name in ("Alice", "Bob")} == {"None"}
    assert second["Corrector's failure reason"] == "None"
    failing = kitchen.failing("agent_0")
    script = model()
    play(failing, script, LlamarOptions(skip_on_success=True, horizon=2))
    assert script.roles.count(CORRECTOR) == 2


def test_check_18_the_remedy_is_in_the_next_prompt_only(kitchen: Kitchen) -> None:
    script = model(
        actor=[PICK], corrector=[corrected(Alice="NavigateTo(Tomato_1)", Bob=None), NOTHING]
    )
    play(kitchen.failing("agent_0"), script, LlamarOptions(horizon=3))
    first, second, third = script.fields(ACTOR)
    assert second["Alice's corrective action"] == "NavigateTo(Tomato_1)"
    assert second["Corrector's failure reason"] == "it was too far"
    assert {first["Bob's corrective action"], second["Bob's corrective action"]} == {"None"}
    assert third["Alice's corrective action"] == "None"


@pytest.mark.parametrize("written", [WALK, f"```json\n{WALK}\n```", f"```python\n{WALK}\n```"])
def test_check_19_a_fence_changes_nothing(kitchen: Kitchen, written: str) -> None:
    play(kitchen, model(actor=[written]), LlamarOptions(horizon=1))
    assert kitchen.log[0] == ("agent_0", "NavigateTo[apple_13]")


@pytest.mark.parametrize("role", ["planner", "actor"])
def test_check_19_three_replies_that_cannot_be_read_idle_all(kitchen: Kitchen, role: str) -> None:
    prose = "I would go to the fridge."
    good = {"planner": planned(OPEN), "actor": WALK}[role]
    script = model(**{role: [prose, prose, prose, good]})
    play(kitchen, script, LlamarOptions(horizon=2))
    assert kitchen.log[:2] == [("agent_0", "Wait[]"), ("agent_1", "Wait[]")]
    assert kitchen.log[2] == ("agent_0", "NavigateTo[apple_13]")
    first = kitchen.decisions[0]
    assert first.thought == (
        f"all agents wait, for no reply could be used: {role}: the reply has no dictionary"
    )
    assert first.evidence["unread_replies"] == "1"
    # The model is told what was wrong.
    again = script.messages(Role(role))[1]
    assert again[2].text == prose
    assert "no dictionary" in again[3].text


@pytest.mark.parametrize("role", ["corrector", "verifier"])
def test_a_judgement_that_cannot_be_read_changes_nothing(kitchen: Kitchen, role: str) -> None:
    script = model(**{role: ["Das wei\u00df ich nicht."]})
    end = play(kitchen, script, LlamarOptions(horizon=2))
    assert subtasks(end) == ([OPEN], [])
    assert end.evidence["unread_replies"] == "2"
    assert end.evidence["last_unread_reply"] == f"{role}: the reply has no dictionary"
    assert f"; not read: {role}: the reply has no dictionary" in kitchen.decisions[1].thought
    assert kitchen.log[2] == ("agent_0", "NavigateTo[apple_13]")


def test_check_20_a_reply_without_an_action_is_asked_for_again(kitchen: Kitchen) -> None:
    script = model(actor=[acted(Alice="NavigateTo(Apple_1)"), WALK])
    play(kitchen, script, LlamarOptions(horizon=1))
    assert script.roles[:3] == [PLANNER, ACTOR, ACTOR]
    assert 'no "Bob\'s action"' in script.messages(ACTOR)[1][3].text
    assert kitchen.log == [("agent_0", "NavigateTo[apple_13]"), ("agent_1", "Wait[]")]


def test_check_40_the_memory_is_in_all_prompts_until_the_next(kitchen: Kitchen) -> None:
    texts = ["Apple_1 is on Table_1; \u201ecold\u201c: {no}", "Alice holds Apple_1"]
    script = model(
        actor=[acted(memory=text, Alice="NavigateTo(Apple_1)", Bob="Idle") for text in texts]
    )
    play(kitchen, script, LlamarOptions(horizon=2))
    read = [
        (role, fields["Robots' combined memory"])
        for role in (PLANNER, ACTOR, CORRECTOR, VERIFIER)
        for fields in script.fields(role)
    ]
    assert read == [
        (PLANNER, "None"),
        (PLANNER, texts[0]),
        (ACTOR, "None"),
        (ACTOR, texts[0]),
        (CORRECTOR, texts[0]),
        (CORRECTOR, texts[1]),
        (VERIFIER, texts[0]),
        (VERIFIER, texts[1]),
    ]


def test_an_agent_that_does_not_exist_is_named_and_left_out(kitchen: Kitchen) -> None:
    reply = acted(Alice="NavigateTo(Apple_1)", Bob="Idle", Zoe="Pickup(Apple_1)")
    end = play(kitchen, model(actor=[reply]), LlamarOptions(horizon=1))
    assert end.evidence["last_dropped"] == 'keys "Zoe\'s action"'
    assert kitchen.decisions[0].thought == (
        'Alice: NavigateTo(Apple_1); Bob: Idle; dropped: keys "Zoe\'s action"'
    )
    assert kitchen.log == [("agent_0", "NavigateTo[apple_13]"), ("agent_1", "Wait[]")]


def test_ten_thousand_subtasks_are_cut_and_counted(kitchen: Kitchen) -> None:
    script = model(planner=[planned(*(f"wash plate {n}" for n in range(10_000)))])
    end = play(kitchen, script, LlamarOptions(horizon=1))
    assert len(subtasks(end)[0]) == 32
    assert end.evidence["last_dropped"] == "9968 of 10000 items of 'plan'"
    assert kitchen.decisions[0].thought.endswith("; dropped: 9968 of 10000 items of 'plan'")


@pytest.mark.parametrize("text", ["qwertz", "Geh zum K\u00fchlschrank", "\u51b7\u8535\u5eab"])
def test_check_29_what_is_not_understood_is_a_failure_of_that_agent(
    kitchen: Kitchen, text: str
) -> None:
    script = model(actor=[acted(Alice=text, Bob="NavigateTo(Fridge_1)"), WALK])
    play(kitchen, script, LlamarOptions(horizon=2))
    assert kitchen.log[:2] == [("agent_0", "Wait[]"), ("agent_1", "NavigateTo[fridge_0]")]
    assert kitchen.decisions[0].thought == (
        f"Alice: Idle (not understood: '{text}'); Bob: NavigateTo(Fridge_1)"
    )
    second = script.fields(ACTOR)[1]
    assert "not understood" in second["Alice's previous action"]
    assert second["Bob's previous failures"] == "None"


def test_check_21_what_was_never_seen_is_a_failure_and_moves_nobody(kitchen: Kitchen) -> None:
    script = model(actor=[acted(Alice="NavigateTo(Bread_1)", Bob="Idle"), WALK])
    play(kitchen, script, LlamarOptions(horizon=2))
    assert kitchen.log[0] == ("agent_0", "Wait[]")
    assert "Alice: NavigateTo(Bread_1) (refused: " in kitchen.decisions[0].thought
    assert "unknown object" in script.fields(ACTOR)[1]["Alice's previous failures"]


@pytest.mark.parametrize(("per_robot", "call"), [(False, "NavigateTo[apple_13]"), (True, "Wait[]")])
def test_check_22_who_must_have_seen_a_thing(
    small_house: House, per_robot: bool, call: str
) -> None:
    kitchen = Kitchen(small_house, facing={"agent_1": math.pi})
    script = model(actor=[acted(Alice="stay idle", Bob="NavigateTo(Apple_1)")])
    options = LlamarOptions(horizon=2, actions=ActionOptions(per_robot=per_robot))
    play(kitchen, script, options)
    assert kitchen.log[1] == ("agent_1", call)
    failures = script.fields(ACTOR)[1]["Bob's previous failures"]
    assert ("unknown object" in failures) is per_robot


def test_a_model_that_is_away_ends_with_its_error(kitchen: Kitchen) -> None:
    with pytest.raises(ModelError, match="nothing is scripted for actor"):
        play(kitchen, RoleScript(planner=[planned(OPEN)]))


def test_a_team_has_names_for_six() -> None:
    agents = tuple(f"agent_{n}" for n in range(7))
    with pytest.raises(PlannerError, match="the team has 7 agents; it may have 1 to 6"):
        made(model(), task=Task("do it", agents))


@pytest.mark.parametrize("count", [1, 3, 6])
def test_teams_of_other_sizes(small_house: House, count: int) -> None:
    agents = tuple(f"agent_{n}" for n in range(count))
    task = Task("do it", agents)
    names = ("Alice", "Bob", "Charlie", "David", "Emma", "Fiona")[:count]
    script = model(
        actor=[acted(**dict.fromkeys(names, "NavigateTo(Apple_1)"))],
        corrector=[corrected(**dict.fromkeys(names))],
        verifier=[verified(OPEN)],
    )
    kitchen = Kitchen(small_house, agents)
    kitchen.run(made(script, task=task), task)
    assert kitchen.log == [(agent, "NavigateTo[apple_13]") for agent in agents]


def test_nobody_is_asked_while_an_agent_is_busy(kitchen: Kitchen) -> None:
    script = model()
    planner = made(script)
    asyncio.run(planner.decide(kitchen.context(TASK, TASK.agents)))
    before = len(script.requests)
    decision = asyncio.run(planner.decide(kitchen.context(TASK, ("agent_1",))))
    assert decision == Decision()
    assert len(script.requests) == before


def test_every_call_is_traced_with_its_role_and_what_was_understood(kitchen: Kitchen) -> None:
    calls: list[ModelCall] = []
    script = model(verifier=[verified(OPEN)])
    asking = Asking("llamar", script, TASK.agents, on_call=calls.append)
    kitchen.run(make_llamar(TASK, asking, Literal()), TASK)
    assert [call.role for call in calls] == [PLANNER, ACTOR, CORRECTOR, VERIFIER]
    acting = calls[1]
    assert acting.calls == ("NavigateTo[apple_13]", "Wait[]")
    assert acting.parameters["agent_0.action"] == "NavigateTo(Apple_1) (1.00)"
    assert acting.parameters["memory"] == "nothing yet"
    assert acting.parameters["memory_version"] == "1"
    assert all(call.grammar for call in calls)
    assert {call.cycle for call in calls} == {1}
