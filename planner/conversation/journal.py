"""How things were before agents changed them, and what is told of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from planner.conversation.utterances import About
from planner.parts.calls import SKILLS
from planner.world.belief import Belief
from planner.world.skill import OpenedTo, PickedUp, SkillCall, StateSet
from planner.world.states import default_states, skills_that_make
from planner.world.vocabulary import EntityKind, Relation, floor_name, is_open

Spot = tuple[Relation, str]
# Where a thing is that was not moved for good.
_RESTS = (Relation.ON, Relation.WITHIN)
_FLOOR = floor_name("")


class Knows(Protocol):
    """What has a belief; to read it may take time."""

    @property
    def belief(self) -> Belief:
        """The newest belief."""


class Journal:
    """What one task has changed.

    Attributes:
        places: where each thing was when it was first picked up.
        states: the states of things before they were changed, by thing and state.
        opened: whether furniture was open before.
        latest: the thing that was picked up last; "" = none.
    """

    def __init__(self) -> None:
        self.places: dict[str, Spot] = {}
        self.states: dict[tuple[str, str], bool] = {}
        self.opened: dict[str, bool] = {}
        self.latest = ""

    def begins(self, call: SkillCall, world: Knows) -> None:
        """Notes how that is which a call is about to change."""
        part = SKILLS.find(call.name)
        effects = part.effects if part is not None else ()
        if not any(isinstance(effect, PickedUp | StateSet | OpenedTo) for effect in effects):
            return
        belief = world.belief
        for effect in effects:
            match effect:
                case PickedUp(index):
                    node = belief.find(call.arguments[index] or "")
                    if node is not None and node.relation in _RESTS and node.parent:
                        self.places.setdefault(node.name, (node.relation, node.parent))
                        self.latest = node.name
                case StateSet(state, value, index):
                    node = belief.find(call.arguments[index] or "")
                    if node is not None and node.states.get(state, not value) is not value:
                        self.states.setdefault((node.name, state), not value)
                case OpenedTo(openness, index):
                    node = belief.find(call.arguments[index] or "")
                    if node is not None:
                        self.opened.setdefault(node.name, not is_open(openness))

    def put_back(self, names: Collection[str] | None = None) -> dict[str, JsonValue] | None:
        """An episode's evaluation in which these are as they were, None = all; None if nothing was.

        What no agent can undo, such as that something is clean, is left out.
        """
        found: list[JsonValue] = []
        for name, (relation, parent) in self.places.items():
            if names is None or name in names:
                found += _at(name, relation, parent)
        if names is None:
            found += self._states_back()
        return {"propositions": found} if found else None

    def _states_back(self) -> list[JsonValue]:
        table = default_states()
        found = [
            _proposition(table.predicate(state, value=value), objects=[name])
            for (name, state), value in self.states.items()
            if table.word(state, value=value) and skills_that_make(state, value=value)
        ]
        found += [
            _proposition("is_open" if was else "is_closed", objects=[name])
            for name, was in self.opened.items()
        ]
        return found


def _at(name: str, relation: Relation, parent: str) -> list[JsonValue]:
    if parent.startswith(_FLOOR):
        room = parent.removeprefix(_FLOOR)
        on_floor = _proposition("is_on_floor", objects=[name])
        return [on_floor, _proposition("is_in_room", objects=[name], rooms=[room])]
    predicate = "is_inside" if relation is Relation.WITHIN else "is_on_top"
    return [_proposition(predicate, objects=[name], receptacles=[parent])]


def _proposition(predicate: str, **arguments: list[str]) -> JsonValue:
    args: Mapping[str, list[JsonValue]] = {k: list(names) for k, names in arguments.items()}
    return {"function_name": predicate, "args": dict(args)}


# Answers to questions about a task in progress, from its plan and from what is known.


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
