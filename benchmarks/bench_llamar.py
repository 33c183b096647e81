"""LLaMAR's own time in a joint step, without the model: processor time from belief to calls.

All entities of a large house are known, the most expensive case: all names are in play. The model's
replies are there at once, and every action fails. Limit for five agents: 20 ms.

Repeat with: python benchmarks/bench_llamar.py [--steps N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time

from machine import print_table

from papers.llamar.joint_planner import Asking
from papers.llamar.llamar import LlamarOptions, make_llamar
from papers.llamar.state import TEAM_NAMES
from papers.llamar.translator import PlainTranslator
from planner.models.chat import Completion, Request, Role
from planner.planning.planner import AgentResult, Context, Task
from planner.world.agents import capabilities_of
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import EntityKind, Relation

FAILED = SkillResult.failure(SkillCode.TOO_FAR, "It is too far away.")
MOST_MS = 20.0
ROOMS, FURNITURE, THINGS = 10, 100, 200


class AtOnce:
    """A model that has each role's reply ready."""

    name = "at once"

    def __init__(self, names: tuple[str, ...]) -> None:
        actions = {f"{name}'s action": "go to the second cabinet" for name in names}
        remedies = dict.fromkeys(f"{name}'s corrective action" for name in names)
        plan = [f"transport thing {number} to the fridge" for number in range(20)]
        memory = "Alice is on the way to the fridge. " * 50
        self._replies = {
            Role.PLANNER: {"reason": "r", "plan": plan},
            Role.ACTOR: {
                "failure reason": None,
                "memory": memory,
                "reason": "r",
                "subtask": plan[0],
                **actions,
            },
            Role.CORRECTOR: {"failure reason": "it was too far", **remedies},
            Role.VERIFIER: {"reason": "r", "completed subtasks": []},
        }

    async def complete(self, request: Request) -> Completion:
        """The reply of the role."""
        return Completion(json.dumps(self._replies[request.role]))

    async def close(self) -> None:
        """Nothing is open."""


def known(agents: tuple[str, ...]) -> Belief:
    """Agents in one of ten rooms, each with ten pieces of furniture and twenty things."""
    nodes = {
        name: BeliefNode(
            name,
            EntityKind.AGENT,
            "robot",
            None,
            (0.5, 0.5, 0.0),
            room="room_0",
            hands=(None,),
            heading_rad=0.8,
        )
        for name in agents
    }
    for number in range(FURNITURE + THINGS):
        is_piece = number < FURNITURE
        name = f"cabinet_{number}" if is_piece else f"cup_{number}"
        room = number % ROOMS
        nodes[name] = BeliefNode(
            name,
            EntityKind.FURNITURE if is_piece else EntityKind.OBJECT,
            "cabinet" if is_piece else "cup",
            100 + number,
            (1.0 + room, 1.0 + number / 100, 0.5),
            room=f"room_{room}",
            parent=f"room_{room}" if is_piece else f"cabinet_{room}",
            relation=None if is_piece else Relation.ON,
            source=Source.SEEN,
        )
    return Belief(0.0, 0, nodes)


def step_ms(house: House, count: int, steps: int) -> float:
    """Mean processor time of a joint step, milliseconds."""
    agents = tuple(f"agent_{number}" for number in range(count))
    able = capabilities_of("robot")
    if able is None:
        raise SystemExit("there is no robot in config/agents.yaml")
    task = Task("Put everything in the fridge.", agents)
    asking = Asking("llamar", AtOnce(TEAM_NAMES[:count]), agents)
    planner = make_llamar(task, asking, PlainTranslator(), LlamarOptions(horizon=steps + 1))
    layout = house.layout
    context = Context(task, known(agents), layout, dict.fromkeys(agents, able), {}, agents, 0.0)
    decision = asyncio.run(planner.decide(context))
    spent_s = 0.0
    for _ in range(steps):
        begin_s = time.process_time()
        ended = (AgentResult(agent, call, FAILED, 0.0) for agent, call in decision.calls.items())
        planner.observe(tuple(ended))
        decision = asyncio.run(planner.decide(context))
        spent_s += time.process_time() - begin_s
        if len(decision.calls) != count:
            raise SystemExit(f"the planner ended: {decision.failure or decision.thought}")
    return 1000 * spent_s / steps


def main() -> None:
    """Prints one row for each size of team."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    args = parser.parse_args()
    house = load_house("train_0")
    rows = []
    for count in (1, 2, 5, 6):
        found_ms = step_ms(house, count, args.steps)
        verdict = f"limit {MOST_MS:.0f} ms" + (": over" if found_ms >= MOST_MS else "")
        rows.append(
            (f"{count} agents, {FURNITURE + THINGS} entities", f"{found_ms:.2f} ms", verdict)
        )
    print_table("LLaMAR: own time in a joint step", rows)


if __name__ == "__main__":
    main()
