"""What a robot does when all else is done: it picks up what it shall hold, and goes somewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from planner.grounding.drafts import GRASPED, PLACE
from planner.planning.expert.expert import DONE
from planner.planning.planner import AgentResult, Context, Decision
from planner.world.skill import SkillCall, SkillCode, SkillName
from planner.world.vocabulary import Relation, is_open

# Attempts that may fail.
MAX_FAILED = 3


class LastCalls:
    """The calls for the criteria of a goal, one after the other."""

    def __init__(self) -> None:
        self._call: SkillCall | None = None
        self._made: list[SkillCall] = []
        self._failures: list[str] = []

    def observe(self, results: Sequence[AgentResult]) -> None:
        """Records how the last of the calls ended."""
        for ended in results:
            if ended.call != self._call:
                continue
            if ended.result.code is SkillCode.SUCCESS:
                self._made.append(ended.call)
            else:
                self._failures.append(ended.result.text)

    def after(
        self, decision: Decision, context: Context, criteria: Mapping[str, JsonValue] | None
    ) -> Decision:
        """The decision, with the next of the calls in place of the end of the first agent."""
        robot = context.task.agents[0]
        if criteria is None or decision.calls.get(robot) != DONE:
            return decision
        left = (call for call in _calls(context, robot, criteria) if call not in self._made)
        self._call = next(left, None)
        if self._call is None:
            return decision
        words = _words(self._call)
        if len(self._failures) >= MAX_FAILED:
            return Decision(failure=f"not done: {words} ({self._failures[-1]})")
        return Decision({robot: self._call}, words)


def _calls(context: Context, robot: str, criteria: Mapping[str, JsonValue]) -> Iterator[SkillCall]:
    """Whatever is still to be done, in order, also what was done already."""
    variables = criteria.get("variables")
    lists = variables if isinstance(variables, Mapping) else {}
    named = {key: str(names[0]) for key, names in lists.items() if isinstance(names, Sequence)}
    for name in (name for key, name in named.items() if key.startswith(GRASPED)):
        node = context.belief.nodes.get(name)
        if node is None or node.relation is not Relation.HELD or node.parent != robot:
            yield from _picking(context, name)
    # One for each "go to".
    places = [name for key, name in named.items() if key.startswith(PLACE)]
    if places:
        yield SkillCall(SkillName.NAVIGATE, (places[-1],))


def _picking(context: Context, name: str) -> Iterator[SkillCall]:
    """The way to a thing, what it is in opened first, and to pick it up."""
    node = context.belief.nodes.get(name)
    base = context.belief.base_of(node) if node is not None else None
    holder = context.belief.nodes.get(base.parent or "") if base is not None else None
    if (
        base is not None
        and holder is not None
        and base.relation is Relation.WITHIN
        and is_open(holder.openness) is False
    ):
        yield SkillCall(SkillName.NAVIGATE, (holder.name,))
        yield SkillCall(SkillName.OPEN, (holder.name,))
    yield SkillCall(SkillName.NAVIGATE, (name,))
    yield SkillCall(SkillName.PICK, (name,))


def _words(call: SkillCall) -> str:
    verbs: dict[str, str] = {SkillName.NAVIGATE: "go to", SkillName.PICK: "pick up"}
    verb = verbs.get(call.name, "open")
    return f"{verb} {call.arguments[0]}"
