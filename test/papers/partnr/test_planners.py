"""PARTNR's planners (PARTNR-7, PARTNR-C35 to PARTNR-C39)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from planning_toys import Outcome, ToyWorld, capabilities, play, prop

from planner.models.caller import ModelCall
from planner.models.chat import (
    Completion,
    ContextFullError,
    Message,
    Request,
    Speaker,
    transcript,
)
from planner.models.teacher import ScriptedModel
from planner.planning.belief_text import MAX_OF_CLASS, summary, world_description
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Context, Decision, Planner, Task
from planner.planning.planner_model import TOKEN, Axes, Control, DialogueOptions, MemorySource
from planner.world.belief import Belief, BeliefNode
from planner.world.skill import SkillCall, SkillName, SkillResult
from planner.world.vocabulary import AgentKind, EntityKind

Make = Callable[..., ToyWorld]
ROBOT = {"agent_0": AgentKind.ROBOT}
CENTRALIZED = Axes(control=Control.CENTRALIZED)


def turn(call: str) -> str:
    return f"Thought: I do this.\n{call}\nAssigned!"


def team_turn(first: str, second: str) -> str:
    return f"Thought: split it\nAgent_0_Action: {first}\nAgent_1_Action: {second}\nAssigned!"


def context(world: ToyWorld, *idle: str, **more: Any) -> Context:
    agents = tuple(world.agents)
    return Context(
        task=Task("Bring the cup to the couch.", agents),
        belief=world.belief(),
        layout=world.house,
        capabilities={name: capabilities(kind) for name, kind in world.agents.items()},
        running=more.pop("running", {}),
        idle=idle or agents,
        now_s=0.0,
        **more,
    )


def planner(
    world: ToyWorld,
    replies: Sequence[str] | Callable[[Sequence[Message]], str],
    name: str = "partnr_react",
    axes: Axes | None = None,
    heard: list[ModelCall] | None = None,
    **options: Any,
) -> tuple[Planner, ScriptedModel]:
    model = ScriptedModel(replies)
    task = Task("Bring the cup to the couch.", tuple(world.agents))
    choice = PlannerChoice(name, axes or Axes(), DialogueOptions(**options))
    on_call = heard.append if heard is not None else lambda call: None
    return make_planner(choice, task, model, on_call), model


def run(made: Planner, world: ToyWorld) -> Outcome:
    return play(made, world, Task("Bring the cup to the couch.", tuple(world.agents)))


def decide(made: Planner, now: Context) -> Decision:
    return asyncio.run(made.decide(now))


def positions(text: str, *parts: str) -> list[int]:
    found = [text.index(part) for part in parts]
    assert found == sorted(found), parts
    return found


# ---- PARTNR-C37: prompts ------------------------------------------------------------------


def test_check_37_the_fields_of_one_agents_prompt(toy_world: Make) -> None:
    world = toy_world()
    made, model = planner(world, [turn("Done[]")] * 2)
    decide(made, context(world))
    for prompt in model.asked:
        assert [m.speaker for m in prompt] == [Speaker.SYSTEM, Speaker.USER]
        positions(
            prompt[1].text,
            "Task: Bring the cup to the couch.",
            "Furniture:",
            "Objects:",
            "Possible Actions:",
            "- Close:",
            "- Navigate:",
            "- Wait:",
            "Thought: <reasoning>",
            "<next action call>",
            "Assigned!",
            "Explore[<room name>]",
        )
        assert prompt[1].text.endswith("Assigned!")
    robot, person = (prompt[0].text for prompt in model.asked)
    assert "was given the task" in robot
    assert "gave the task" in person
    assert "- Clean:" not in model.asked[0][1].text
    assert "- Clean:" in model.asked[1][1].text
    tools = re.findall(r"^- (\w+):", model.asked[1][1].text, re.MULTILINE)
    assert tools == sorted(tools)


def test_check_37_a_teams_prompt_and_reply(toy_world: Make) -> None:
    world = toy_world()
    reply = team_turn("Navigate[cup_0]", "Clean[table_0]")
    made, model = planner(world, [reply], axes=CENTRALIZED)
    calls = decide(made, context(world)).calls
    assert {a: str(c) for a, c in calls.items()} == {
        "agent_0": "Navigate[cup_0]",
        "agent_1": "Clean[table_0]",
    }
    positions(
        model.asked[0][1].text,
        "Task: ",
        "Furniture:",
        "Possible actions for each agent:",
        "Agent 0:",
        "Agent 1:",
        "Agent_0_Action: <call for agent 0>",
        "Agent_1_Action: <call for agent 1>",
        "Assigned!",
    )
    assert "Agent 0 is agent_0, a robot." in model.asked[0][0].text


def test_the_world_as_the_paper_writes_it(toy_world: Make) -> None:
    world = toy_world(agents=ROBOT)
    lines = world_description(world.belief()).splitlines()
    assert lines[0] == "Furniture:"
    assert lines[1].startswith("kitchen_0: floor_kitchen_0, ")
    assert "cup_0: table_0 in kitchen_0" in lines
    world.hidden = set(world.things)
    assert world_description(world.belief()).endswith("Objects:\nNo objects found yet")


def test_a_summary_says_where_everything_is() -> None:
    def thing(name: str, **more: Any) -> BeliefNode:
        return BeliefNode(name, EntityKind.OBJECT, "kettle", None, (0, 0, 0), **more)

    from planner.world.vocabulary import Relation

    nodes = [
        thing("kettle_0"),
        thing("kettle_1", parent="agent_0", relation=Relation.HELD),
        thing("kettle_2", parent="agent_1", relation=Relation.HELD),
        thing("kettle_3", parent="table_0", relation=Relation.ON),
    ]
    belief = Belief(0.0, 0, {node.name: node for node in nodes})
    assert summary(belief, "agent_0").splitlines() == [
        "Objects:",
        "kettle_0: unknown in an unknown room",
        "kettle_1: held by the agent",
        "kettle_2: held by the other agent",
        "kettle_3: table_0 in unknown",
    ]


def test_with_tools_there_is_no_summary(toy_world: Make) -> None:
    world = toy_world(agents=ROBOT)
    replies = [turn("FindObjectTool[the cup]"), turn("Done[]")]
    made, model = planner(world, replies, "partnr_tools")
    run(made, world)
    assert "- FindObjectTool:" in model.asked[0][1].text
    assert all("Objects:" not in m.text for m in model.asked[-1] if m.speaker is Speaker.USER)
    made, model = planner(world, [turn("Done[]")], "partnr_summary")
    run(made, world)
    assert "FindObjectTool" not in transcript(model.asked[0])


# ---- PARTNR-C35, PARTNR-C36: the loop -------------------------------------------------


def test_check_35_fifty_cycles_of_each_agents_planner(toy_world: Make) -> None:
    world = toy_world()
    made, model = planner(world, lambda messages: turn("Wait[]"))
    outcome = run(made, world)
    assert outcome.failure.startswith("planner limit: 50")
    assert len(model.asked) == 100
    evidence = outcome.decisions[-1].evidence
    assert evidence["cycles_by_agent"] == "agent_0 50, agent_1 50"
    assert evidence["planner_limit"] == "agent_0, agent_1"


def test_check_35_a_hundred_cycles_of_a_teams_planner(toy_world: Make) -> None:
    world = toy_world()
    made, model = planner(world, lambda messages: team_turn("Wait[]", "Wait[]"), axes=CENTRALIZED)
    outcome = run(made, world)
    assert outcome.failure.startswith("planner limit: 100")
    assert len(model.asked) == 100


def test_d_2_one_exhausted_agent_idles_and_the_reason_is_kept(toy_world: Make) -> None:
    world = toy_world()
    rounds = iter(range(1000))

    def reply(messages: Sequence[Message]) -> str:
        robot = "was given the task" in messages[0].text
        return turn("Wait[]" if robot or next(rounds) < 60 else "Done[]")

    made, _ = planner(world, reply, max_cycles=5)
    outcome = run(made, world)
    assert outcome.failure.startswith("planner limit")
    assert "agent_0" in outcome.decisions[-1].evidence["planner_limit"]


def test_check_36_one_is_done_and_the_other_continues(toy_world: Make) -> None:
    world = toy_world()

    def reply(messages: Sequence[Message]) -> str:
        if "was given the task" in messages[0].text or len(messages) > 7:
            return turn("Done[]")
        return turn("Navigate[table_0]")

    made, _ = planner(world, reply)
    outcome = run(made, world)
    assert outcome.done
    assert outcome.of("agent_0") == ["Done[]"]
    assert outcome.of("agent_1") == ["Navigate[table_0]"] * 3 + ["Done[]"]


def test_a_team_re_issues_what_runs_and_ends_together(toy_world: Make) -> None:
    """PARTNR-D55: naming the running action again changes nothing; another one does not stop it."""
    world = toy_world()
    made, model = planner(
        world,
        [
            team_turn("Navigate[cup_0]", "Navigate[book_0]"),
            team_turn("Wait[]", "Pick[book_0]"),
            "Thought: done\nDone[]\nAssigned!",
        ],
        axes=CENTRALIZED,
    )
    decide(made, context(world))
    running = {"agent_1": SkillCall(SkillName.NAVIGATE, ("book_0",))}
    from planner.planning.planner import AgentResult

    done = AgentResult(
        "agent_0", SkillCall(SkillName.NAVIGATE, ("cup_0",)), SkillResult.success(), 1.0
    )
    made.observe((done,))
    second = decide(made, context(world, "agent_0", running=running))
    assert {a: str(c) for a, c in second.calls.items()} == {"agent_0": "Wait[]"}
    told = model.asked[1][-1].text
    assert "Result of Agent_0_Action: Successful execution!" in told
    assert "Result of Agent_1_Action: still in progress: Navigate[book_0]" in told
    made.observe((done,))
    last = decide(made, context(world))
    assert [str(call) for call in last.calls.values()] == ["Done[]", "Done[]"]


def test_three_agents_work_too(toy_world: Make) -> None:
    world = toy_world(
        agents={
            "agent_0": AgentKind.ROBOT,
            "agent_1": AgentKind.HUMAN,
            "agent_2": AgentKind.ROBOT,
        }
    )
    reply = team_turn("Wait[]", "Wait[]").replace("\nAss", "\nAgent_2_Action: Wait[]\nAss")
    made, _ = planner(world, [reply], axes=CENTRALIZED)
    assert len(decide(made, context(world)).calls) == 3
    made, model = planner(world, lambda messages: turn("Done[]"))
    assert run(made, world).done
    assert len(model.asked) == 3


# ---- prompts stay short -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["react", "partnr_react", "partnr_tools"])
def test_each_prompt_is_a_byte_prefix_of_the_next(toy_world: Make, name: str) -> None:
    world = toy_world(agents=ROBOT)
    calls = ["Navigate[cup_0]", "nonsense", "Pick[cup_0]", "Pick[cup_0]", "Done[]"]
    world.find = {f"Object.{node.entity_id}": node.name for node in world.belief().nodes.values()}
    made, model = planner(world, [turn(call) for call in calls], name)
    run(made, world)
    texts = [transcript(messages).encode() for messages in model.asked]
    assert len(texts) == 5
    for before, after in pairwise(texts):
        assert after.startswith(before)


def test_a_teams_prompt_is_a_byte_prefix_of_the_next(toy_world: Make) -> None:
    world = toy_world()
    replies = [
        team_turn("Navigate[cup_0]", "Wait[]"),
        "nonsense",
        team_turn("Pick[cup_0]", "Wait[]"),
        team_turn("Wait[]", "Wait[]"),
        *["Thought: done\nDone[]\nAssigned!"] * 6,
    ]
    made, model = planner(world, replies, axes=CENTRALIZED)
    run(made, world)
    texts = [transcript(messages).encode() for messages in model.asked]
    for before, after in pairwise(texts):
        assert after.startswith(before)


def test_the_state_prompt_shares_all_but_its_last_line(toy_world: Make) -> None:
    world = toy_world(agents=ROBOT)
    made, model = planner(world, ["Navigate[cup_0]", "Pick[cup_0]", "Done[]"], "partnr_finetuned")
    assert run(made, world).done
    texts = [messages[0].text for messages in model.asked]
    assert all(text.endswith(f"Next Agent Action:{TOKEN}") for text in texts)
    for before, after in pairwise(texts):
        assert after.startswith(before.rpartition("\n")[0])
    positions(texts[-1], "Task: ", "Current Environment:", "Previous actions:", "Agent_Action: ")
    assert "Action Result: Successful execution!" in texts[-1]


def test_the_state_prompt_tells_of_the_others_actions(toy_world: Make) -> None:
    world = toy_world()
    made, model = planner(
        world, lambda m: "Done[]" if "Other" in m[0].text else "Wait[]", "partnr_finetuned"
    )
    run(made, world)
    assert any("Other_Agent_Action: Wait[]" in m[0].text for m in model.asked)


class Small(ScriptedModel):
    """A model that reads so many characters and no more."""

    most = 6000

    async def complete(self, request: Request) -> Completion:
        if len(transcript(request.messages)) > self.most:
            raise ContextFullError("small: the model's context is full")
        return await super().complete(request)


def test_d_52_old_summaries_go_first_and_never_results(toy_world: Make) -> None:
    world = toy_world(agents=ROBOT)
    task = Task("Bring the cup to the couch.", ("agent_0",))
    model = Small(lambda messages: turn("Navigate[cup_0]"))
    heard: list[ModelCall] = []
    choice = PlannerChoice("partnr_react", dialogue=DialogueOptions(max_cycles=30))
    outcome = play(make_planner(choice, task, model, heard.append), world, task)
    assert int(outcome.decisions[-1].evidence["summaries_dropped"]) > 0
    results = [m.text for m in model.asked[-1] if m.text.startswith("Result:")]
    assert len(results) == 29
    assert any("Objects:" not in text for text in results)
    assert "Objects:" in results[-1]
    assert any("summaries_dropped" in call.parameters for call in heard)


def test_a_context_that_cannot_be_freed_is_reported(toy_world: Make) -> None:
    world = toy_world(agents=ROBOT)
    model = Small(lambda messages: turn("Navigate[cup_0]"))
    model.most = 100
    task = Task("Bring the cup.", ("agent_0",))
    with pytest.raises(ContextFullError, match="context is full"):
        play(make_planner(PlannerChoice("partnr_react"), task, model), world, task)


# ---- axes -------------------------------------------------------------------------------


def test_the_cell_of_the_experiment_is_recorded(toy_world: Make) -> None:
    world = toy_world()
    heard: list[ModelCall] = []
    axes = Axes(control=Control.CENTRALIZED, memory_source=MemorySource.TOOLS)
    made, _ = planner(world, [team_turn("Wait[]", "Wait[]")], axes=axes, heard=heard)
    decision = decide(made, context(world))
    wanted = {
        "control": "centralized",
        "observability": "partial",
        "skills": "oracle",
        "privilege": "perception",
        "memory_source": "tools",
    }
    assert wanted.items() <= heard[0].parameters.items()
    assert wanted.items() <= decision.evidence.items()
    assert heard[0].parameters["grammar_hash"]


@pytest.mark.parametrize("name", ["partnr_react", "partnr_summary", "partnr_finetuned", "react"])
def test_one_agents_control_is_single(toy_world: Make, name: str) -> None:
    world = toy_world(agents=ROBOT)
    made, _ = planner(world, lambda messages: turn("Done[]"), name)
    decision = decide(made, context(world))
    assert decision.evidence["control"] in ("single", "decentralized")
    assert (decision.evidence["control"] == "single") is (name != "react")


def test_summaries_with_states_name_the_furniture_that_changed(toy_world: Make) -> None:
    world = toy_world()
    line = f"table_1: {world.belief().nodes['table_1'].room} (dirty)"
    assert "\ntable_1:" not in summary(world.belief(), "", states=True)
    world.states["table_1"] = {"clean": False}
    assert "\ntable_1:" not in summary(world.belief(), "")
    assert line in summary(world.belief(), "", states=True).splitlines()


def test_copies_do_not_drown_the_summary() -> None:
    """PARTNR-11.2: a graph of twenty-five bees."""
    nodes = {
        f"bee_{i}": BeliefNode(f"bee_{i}", EntityKind.OBJECT, "bee", None, (0, 0, 0))
        for i in range(25)
    }
    lines = summary(Belief(0.0, 0, nodes), "").splitlines()
    assert len(lines) == MAX_OF_CLASS + 2
    assert lines[-1] == "bee: 13 more"


# ---- heuristic_expert -------------------------------------------------------------------


def goal_task(world: ToyWorld, *propositions: Any, **more: Any) -> Task:
    goal = {"propositions": list(propositions), "dependencies": [], **more}
    return Task("do it", tuple(world.agents), goal)


def test_the_heuristic_expert_plans_for_both_by_ability(toy_world: Make) -> None:
    world = toy_world()
    task = goal_task(
        world,
        prop("is_on_top", ["cup_0"], ["couch_0"]),
        prop("is_on_top", ["apple_0"], ["couch_0"]),
        prop("is_powered_on", ["lamp_0"]),
    )
    world.fault = rearranges(world)
    outcome = play(make_planner(PlannerChoice("heuristic_expert"), task, None), world, task)
    assert outcome.done
    assert world.things["cup_0"][1] == world.things["apple_0"][1] == "couch_0"
    assert "PowerOn[lamp_0]" in outcome.of("agent_1")
    assert outcome.decisions[0].evidence["privilege"] == "goal"
    assert outcome.decisions[0].evidence["observability"] == "full"


def rearranges(world: ToyWorld) -> Callable[[str, SkillCall], SkillResult | None]:
    def fault(agent: str, call: SkillCall) -> SkillResult | None:
        if call.name != SkillName.REARRANGE:
            return None
        from planner.world.vocabulary import Relation

        thing, relation, place, _, _ = call.arguments
        world.things[str(thing)] = (Relation(relation or ""), str(place))
        return SkillResult.success()

    return fault


def test_the_heuristic_expert_keeps_the_order(toy_world: Make) -> None:
    world = toy_world()
    task = goal_task(
        world,
        prop("is_on_top", ["cup_0"], ["couch_0"]),
        prop("is_on_top", ["apple_0"], ["couch_0"]),
        constraints=[{"type": "TemporalConstraint", "edges": [[1, 0]]}],
    )
    world.fault = rearranges(world)
    outcome = play(make_planner(PlannerChoice("heuristic_expert"), task, None), world, task)
    assert outcome.done
    moved = [call for _, call in outcome.calls if call.startswith("Rearrange")]
    assert [call.split("[")[1].split(",")[0] for call in moved] == ["apple_0", "cup_0"]


def test_the_heuristic_expert_needs_to_see_everything(toy_world: Make) -> None:
    world = toy_world("cup_0")
    task = goal_task(world, prop("is_on_top", ["cup_0"], ["couch_0"]))
    outcome = play(make_planner(PlannerChoice("heuristic_expert"), task, None), world, task)
    assert "needs full observability: cup_0 not known" in outcome.failure


@pytest.mark.parametrize(
    ("proposition", "need"),
    [
        (prop("is_cooked", ["apple_0"]), "is_cooked(apple_0) needs a stove that is on"),
        (prop("is_sliced", ["apple_0"]), "is_sliced(apple_0) needs a knife"),
        (
            prop("is_on_top", ["apple_slice_5"], ["couch_0"]),
            "apple_slice_5 needs apple_1 to be sliced",
        ),
    ],
)
def test_the_heuristic_expert_refuses_what_takes_tools_and_devices(
    toy_world: Make, proposition: Any, need: str
) -> None:
    world = toy_world()
    task = goal_task(world, proposition)
    outcome = play(make_planner(PlannerChoice("heuristic_expert"), task, None), world, task)
    assert outcome.failure == (
        f"heuristic_expert plans neither tools nor devices: {need}; use the planner `expert`"
    )
    assert outcome.calls == []


def test_the_heuristic_expert_leaves_what_fails_twice(toy_world: Make) -> None:
    from planner.world.skill import SkillCode

    world = toy_world()
    task = goal_task(world, prop("is_on_top", ["cup_0"], ["couch_0"]))
    world.fault = lambda agent, call: (
        SkillResult.failure(SkillCode.UNREACHABLE, "no way.")
        if call.name == SkillName.REARRANGE
        else None
    )
    outcome = play(make_planner(PlannerChoice("heuristic_expert"), task, None), world, task)
    assert outcome.done
    assert "no way" in outcome.decisions[-1].evidence["skipped_steps"]
    assert sum(call.startswith("Rearrange") for _, call in outcome.calls) == 2
