"""Answers to questions about a task in progress, from its plan and from what is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.conversation.utterances import About
from planner.world.belief import Belief
from planner.world.skill import SkillCall
from planner.world.vocabulary import EntityKind, Relation


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a task is.

    Attributes:
        running: the call of each busy agent.
        agents: those of the task.
        plan: the planner's last thought; "" = none yet.
        done, left: parts of the task in words; both empty if the planner tells none.
        passed_s: since it began, on the world's clock.
        is_held: whether all stand because somebody said so.
    """

    running: Mapping[str, SkillCall] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    plan: str = ""
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    passed_s: float = 0.0
    is_held: bool = False


_DOES = {
    "Navigate": "goes to {0}",
    "Pick": "picks up {0}",
    "Place": "puts {0} {1} {2}",
    "Open": "opens {0}",
    "Close": "closes {0}",
    "Clean": "cleans {0}",
    "Fill": "fills {0}",
    "PowerOn": "switches on {0}",
    "PowerOff": "switches off {0}",
    "Explore": "looks round in {0}",
    "ExploreFurniture": "looks at {0}",
    "Wait": "waits",
}


def in_words(call: SkillCall) -> str:
    """A call as it is told: "goes to cup_0"."""
    form = _DOES.get(call.name)
    arguments = [str(argument or "") for argument in call.arguments]
    if form is None or form.count("{") > len(arguments):
        return f"does {call}"
    return form.format(*arguments)


def told(about: About, instruction: str, standing: Standing, belief: Belief) -> str:
    """The answer to a question about a task."""
    match about:
        case About.DOING:
            return f"{_doing(standing)} The task: {instruction[:300]}"
        case About.HOW_LONG:
            return _how_long(standing)
        case About.DONE:
            return _done(standing)
        case About.LEFT:
            left = "; ".join(standing.left)
            return f"Left to do: {left}." if left else f"{_doing(standing)} {instruction[:300]}"
        case About.WHERE:
            return _where(standing, belief)
        case About.HOLDING:
            return _holding(standing, belief)
        case About.TASK:
            return f"The task: {instruction[:300]}"


def _doing(standing: Standing) -> str:
    if standing.is_held:
        return "All agents stand, as they were told."
    doing = [
        f"{agent} {in_words(standing.running[agent]) if agent in standing.running else 'waits'}"
        for agent in standing.agents
    ]
    return f"{'; '.join(doing)}." if doing else "I am about to begin."


def _how_long(standing: Standing) -> str:
    done, count = len(standing.done), len(standing.done) + len(standing.left)
    passed = f"{standing.passed_s:.0f} s have passed"
    if not count:
        return f"I cannot tell; {passed}."
    if not done:
        return f"I cannot tell yet: none of {count} parts is done, and {passed}."
    left_s = standing.passed_s / done * len(standing.left)
    return f"About {max(1.0, left_s):.0f} s more: {done} of {count} parts are done, and {passed}."


def _done(standing: Standing) -> str:
    if not standing.done and not standing.left:
        return f"Not yet. {_doing(standing)}"
    done = "; ".join(standing.done) or "nothing yet"
    left = "; ".join(standing.left)
    return f"Done: {done}. " + (f"Left to do: {left}." if left else "I am about to end.")


def _where(standing: Standing, belief: Belief) -> str:
    told = [
        f"{node.name} is in {node.room}" if node.room else f"where {node.name} is, is not known"
        for node in belief.of_kind(EntityKind.AGENT)
        if node.name in standing.agents
    ]
    return f"{'; '.join(told)}." if told else "That is not known yet."


def _holding(standing: Standing, belief: Belief) -> str:
    held = {
        node.parent: node.name
        for node in belief.nodes.values()
        if node.relation is Relation.HELD and node.parent
    }
    told = [f"{agent} holds {held.get(agent, 'nothing')}" for agent in standing.agents]
    return f"{'; '.join(told)}." if told else "Nothing is held."
