"""A model with a script for each role, and a world that carries out calls as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from papers.llamar.actions import IDLE, Action, ActionError, parse_action
from papers.llamar.joint_planner import JointPlanner
from papers.llamar.prompt import read_block
from papers.llamar.translator import Translation
from planner.models.chat import Completion, Message, ModelError, Request, Role
from planner.planning.planner import AgentResult, Context, Decision, Task, TeamMessage
from planner.world.agents import capabilities_of
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.house import House
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import EntityKind, Relation

Script = Sequence[str] | Callable[[Mapping[str, str]], str]
OPEN = "transport the apple to the fridge"


def planned(*subtasks: str) -> str:
    return json.dumps({"reason": "r", "plan": list(subtasks)})


def verified(*completed: str) -> str:
    return json.dumps({"reason": "r", "completed subtasks": list(completed)})


def corrected(**actions: str | None) -> str:
    remedies = {f"{name}'s corrective action": action for name, action in actions.items()}
    return json.dumps({"failure reason": "it was too far", **remedies})


def acted(memory: str = "nothing yet", failure: str = "None", **actions: str) -> str:
    texts = {"failure reason": failure, "memory": memory, "reason": "r", "subtask": OPEN}
    return json.dumps({**texts, **{f"{name}'s action": text for name, text in actions.items()}})


class RoleScript:
    """A model whose replies are lists or functions of the prompt's fields, by role.

    The last reply of a list is repeated.
    """

    name = "by role"

    def __init__(self, **scripts: Script) -> None:
        self._scripts = scripts
        self.requests: list[Request] = []

    @property
    def roles(self) -> list[Role]:
        return [request.role for request in self.requests]

    def fields(self, role: Role) -> list[dict[str, str]]:
        """The fields of all prompts of a role."""
        return [read_block(r.messages[1].text) for r in self.requests if r.role is role]

    def messages(self, role: Role) -> list[tuple[Message, ...]]:
        return [r.messages for r in self.requests if r.role is role]

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        script = self._scripts.get(request.role.value)
        if script is None:
            raise ModelError(f"nothing is scripted for {request.role}")
        if callable(script):
            return Completion(script(read_block(request.messages[1].text)))
        return Completion(script[min(self.roles.count(request.role), len(script)) - 1])

    async def close(self) -> None:
        pass


class Literal:
    """A translator that reads the paper's spellings only."""

    translator_id = "literal"

    def translate(self, text: str, admissible: Sequence[Action]) -> Translation:
        try:
            return Translation(parse_action(text), text, 1.0, understood=True)
        except ActionError:
            return Translation(IDLE, text, 0.0, understood=False)


@dataclass
class Kitchen:
    """An apple on a table and a fridge, before agents that face them; nothing really moves.

    `fault` says which calls fail, `facing` who does not look to the east (radians).
    """

    house: House
    agents: tuple[str, ...] = ("agent_0", "agent_1")
    fault: Callable[[str, SkillCall], SkillResult | None] = lambda agent, call: None
    facing: Mapping[str, float] = field(default_factory=dict)
    log: list[tuple[str, str]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    said: list[TeamMessage] = field(default_factory=list)

    def belief(self) -> Belief:
        nodes = {
            name: BeliefNode(
                name,
                EntityKind.AGENT,
                "robot",
                None,
                (0.0, float(n), 0.0),
                room="kitchen_0",
                hands=(None,),
                heading_rad=self.facing.get(name, 0.0),
            )
            for n, name in enumerate(self.agents)
        }
        furniture, thing = EntityKind.FURNITURE, EntityKind.OBJECT
        for number, (name, kind, x_m) in enumerate(
            (("fridge_0", furniture, 5.0), ("table_1", furniture, 4.0), ("apple_13", thing, 4.0))
        ):
            nodes[name] = BeliefNode(
                name,
                kind,
                name.rpartition("_")[0],
                100 + number,
                (x_m, 0.5, 0.8),
                room="kitchen_0",
                parent="table_1" if kind is thing else "kitchen_0",
                relation=Relation.ON if kind is thing else None,
                source=Source.SEEN,
            )
        return Belief(0.0, 0, nodes)

    def context(self, task: Task, idle: Sequence[str]) -> Context:
        able = capabilities_of("robot")
        assert able is not None
        layout = self.house.layout
        return Context(
            task,
            self.belief(),
            layout,
            dict.fromkeys(task.agents, able),
            {},
            tuple(idle),
            float(len(self.log)),
            messages=tuple(self.said),
        )

    def run(self, planner: JointPlanner, task: Task, most: int = 100) -> Decision:
        """Joint steps until the planner ends; calls end one after the other."""
        for _ in range(most):
            decision = asyncio.run(planner.decide(self.context(task, task.agents)))
            self.decisions.append(decision)
            done = [c.name == SkillName.DONE for c in decision.calls.values()]
            if decision.failure or (done and all(done)):
                return decision
            assert decision.calls.keys() == set(task.agents)
            self.said += decision.messages
            for agent, call in decision.calls.items():
                self.log.append((agent, str(call)))
                result = self.fault(agent, call) or SkillResult.success()
                planner.observe((AgentResult(agent, call, result, 0.0),))
        raise AssertionError(f"not over after {most} decisions")

    def failing(self, agent: str, code: SkillCode = SkillCode.TOO_FAR) -> Kitchen:
        """The same with an agent whose calls fail, except waiting."""

        def fault(who: str, call: SkillCall) -> SkillResult | None:
            if who != agent or call.name == SkillName.WAIT:
                return None
            return SkillResult.failure(code, "apple_13 is too far away.")

        return replace(self, fault=fault, log=[], decisions=[], said=[])
