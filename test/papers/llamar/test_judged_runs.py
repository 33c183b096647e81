"""LLaMAR's checks that are about whole episodes, in a graph's world with its judge.

LLAMAR-C12, LLAMAR-C15, LLAMAR-C21, LLAMAR-C24, LLAMAR-C31, LLAMAR-C38 and LLAMAR-C39.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from llamar_toys import RoleScript, acted, corrected, planned, verified

from papers.llamar import metrics as llamar
from planner.app.embedded_run import prepare_graph
from planner.app.run import RunResult, decision_record, traced
from planner.app.run_options import RunOptions
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import TraceBuilder
from planner.models.caller import ModelCall
from planner.models.chat import Role
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.world.episode import AgentPlacement, Checklist
from planner.world.house_checks import load_house
from planner.world.skill import SkillCode
from planner.world.topics import InstructionCode
from planner.world.vocabulary import AgentKind
from sim_bridge.graph.backend import GraphBackend

APPLES = ("apple_13", "apple_30", "apple_31")
OPEN = "put the apples into the fridge"
TO_THE_FRIDGE = (("NavigateTo(Fridge_1)",), ("Open(Fridge_1)",))
Steps = Sequence[Sequence[str]]


def put_away(thing: str) -> tuple[tuple[str], ...]:
    """The joint steps of one agent, from where it stands."""
    return (
        (f"NavigateTo({thing})",),
        (f"Pickup({thing})",),
        ("NavigateTo(Fridge_1)",),
        ("Put(Fridge_1)",),
    )


@dataclass(frozen=True)
class Played:
    """A run, its trace and the prompts."""

    result: RunResult
    trace: EpisodeTrace
    script: RoleScript

    @property
    def calls(self) -> list[tuple[str, str, int]]:
        """Agent, call and code of the calls, in the order of their ends."""
        return [(line.agent, line.call, line.code) for line in self.trace.calls]

    @property
    def steps(self) -> float | None:
        return llamar.joint_steps(self.trace).value


Play = Callable[..., Played]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Runs joint steps in the kitchen; the last one is repeated until the run ends.

    `completes` is the step after which the Verifier says that the subtask is complete.
    """

    def run(
        steps: Steps,
        items: Sequence[str],
        *,
        apples: Sequence[str] = APPLES[:1],
        completes: int | None = None,
    ) -> Played:
        document = kitchen.graph()
        for apple in apples[1:]:
            number = int(apple.rpartition("_")[2])
            document["nodes"].append(kitchen.node(number, "apple", properties=["GRABBABLE"]))
            document["edges"].append(kitchen.edge(number, "ON", kitchen.TABLE))
        house = load_house(kitchen.written(tmp_path, document))
        goal = {
            "function_name": "is_inside",
            "args": {
                "objects": list(apples),
                "receptacles": ["fridge_10"],
                "number": len(apples),
            },
        }
        starts = ((3.0, 0.0, -2.2), (3.0, 0.8, -2.2))[: len(steps[0])]
        agents = tuple(
            AgentPlacement(uid=f"agent_{n}", kind=AgentKind.ROBOT, start=start)
            for n, start in enumerate(starts)
        )
        targets = (*((apple,) for apple in apples), ("fridge_10",))
        episode = kitchen.task(house).model_copy(
            update={
                "agents": agents,
                "evaluation": {"propositions": [goal]},
                "checklist": Checklist(ambiguity=2, subtasks=tuple(items), targets=targets),
            }
        )
        names = ("Alice", "Bob")[: len(agents)]
        script = RoleScript(
            planner=[planned(OPEN)],
            actor=[acted(**dict(zip(names, step, strict=True))) for step in steps],
            corrector=[corrected(**dict.fromkeys(names))],
            verifier=[*[verified()] * (completes - 1), verified(OPEN)]
            if completes
            else [verified()],
        )
        calls: list[ModelCall] = []

        def planner(task: Task) -> Planner:
            return make_planner(PlannerChoice("llamar"), task, script, calls.append)

        builder = TraceBuilder()
        result = prepare_graph(
            GraphBackend(), house, episode, planner, RunOptions(trace=builder)
        ).run()
        decisions = [decision_record(call, 0.0) for call in calls]
        trace = traced(builder, episode, result, planner="llamar", decisions=decisions)
        return Played(result, trace, script)

    return run


def items_of(apple: str) -> tuple[str, ...]:
    return (
        f"NavigateTo({apple})",
        f"PickupObject({apple})",
        f"NavigateTo(fridge_10, {apple})",
        f"PutObject(fridge_10, {apple})",
    )


def test_check_12_thirty_joint_steps_without_success(play: Play) -> None:
    """LLAMAR-C12."""
    found = play([("stay idle",)], items_of("apple_13"))
    assert found.result.outcome.code is InstructionCode.CALL_LIMIT
    assert found.steps == 30
    assert found.script.roles.count(Role.ACTOR) == 30
    assert llamar.success(found.trace).value == 0.0


def test_check_15_believing_to_be_finished_is_not_success(play: Play) -> None:
    """LLAMAR-C15: nothing is open after three of four sub-tasks, the apple is still in the hand."""
    steps = (*TO_THE_FRIDGE, *put_away("Apple_1")[:3])
    found = play(steps, items_of("apple_13"), completes=len(steps))
    assert found.result.outcome.code is InstructionCode.DONE
    assert found.result.evidence["open_subtasks"] == "[]"
    assert llamar.success(found.trace).value == 0.0
    assert llamar.transport_rate(found.trace).value == 0.75
    whole = play(
        (*TO_THE_FRIDGE, *put_away("Apple_1")), items_of("apple_13"), completes=len(steps) + 1
    )
    assert llamar.success(whole.trace).value == 1.0
    assert llamar.transport_rate(whole.trace).value == 1.0


def test_check_21_nobody_moves_to_what_was_never_seen(play: Play) -> None:
    """LLAMAR-C21."""
    found = play([("NavigateTo(Bread_1)",), ("Done",)], items_of("apple_13"))
    assert [call for _, call, _ in found.calls] == ["Wait[]", "Done[]"]
    assert len({(line.x_m, line.y_m) for line in found.trace.moves}) == 1
    failures = found.script.fields(Role.ACTOR)[1]["Alice's previous failures"]
    assert "unknown object" in failures


def test_check_24_the_fridge_has_to_be_open(play: Play) -> None:
    """LLAMAR-C24: a robot with a thing in its only hand opens nothing, so the other one does."""
    idle, near = "stay idle", "NavigateTo(Fridge_1)"
    steps = (
        ("NavigateTo(Apple_1)", near),
        ("Pickup(Apple_1)", idle),
        (near, idle),
        ("Put(Fridge_1)", idle),
        (idle, "Open(Fridge_1)"),
        ("Put(Fridge_1)", idle),
        ("Done", "Done"),
    )
    found = play(steps, items_of("apple_13"))
    ends = [code for _, call, code in found.calls if call.startswith("PutObject")]
    assert ends == [SkillCode.FURNITURE_CLOSED, SkillCode.SUCCESS]
    prompts = found.script.fields(Role.ACTOR)
    assert "receptacle closed" in prompts[4]["Alice's previous failures"]
    assert [prompts[n]["Alice's state"].rpartition("holding ")[2] for n in (4, 6)] == [
        "Apple_1",
        "nothing",
    ]
    assert found.result.verdict.success


def test_check_31_exploring_is_one_joint_step(play: Play) -> None:
    """LLAMAR-C31."""
    found = play([("Explore",), ("Done",)], items_of("apple_13"))
    assert [call for _, call, _ in found.calls] == [f"ExploreByView[{OPEN}]", "Done[]"]
    assert found.script.roles.count(Role.ACTOR) == 2
    # The one in which all are done is the second.
    assert found.steps == 2


def test_check_38_two_of_three_apples(play: Play) -> None:
    """LLAMAR-C38."""
    steps = (*TO_THE_FRIDGE, *put_away("Apple_1"), *put_away("Apple_2"))
    items = [item for apple in APPLES for item in items_of(apple)]
    found = play((*steps, ("Done",)), items, apples=APPLES)
    assert found.result.outcome.code is InstructionCode.DONE
    assert llamar.success(found.trace).value == 0.0
    assert llamar.transport_rate(found.trace).value == pytest.approx(8 / 12)
    assert llamar.coverage(found.trace).value == pytest.approx(3 / 4)


def test_check_39_the_second_reads_that_the_fridge_is_being_opened(play: Play) -> None:
    """LLAMAR-C39: nobody waits for the other, and the next prompt has the failure."""
    to_the_fridge = ("NavigateTo(Fridge_1)", "NavigateTo(Fridge_1)")
    both = ("Open(Fridge_1)", "Open(Fridge_1)")
    found = play([to_the_fridge, both, ("Done", "Done")], items_of("apple_13"))
    opened = {agent: code for agent, call, code in found.calls if call.startswith("OpenObject")}
    assert opened == {"agent_0": SkillCode.SUCCESS, "agent_1": SkillCode.NEED_UNMET}
    third = found.script.fields(Role.ACTOR)[2]
    assert third["Alice's previous failures"] == "None"
    assert "wrong state" in third["Bob's previous failures"]
    assert found.result.outcome.code is InstructionCode.DONE
    # Waiting until the other one has ended is no decision.
    assert found.result.decisions == found.steps == 3
