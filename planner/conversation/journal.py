"""How things were before agents changed them, so that they can be put back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pydantic import JsonValue

from planner.parts.calls import SKILLS
from planner.world.belief import Belief
from planner.world.skill import OpenedTo, PickedUp, SkillCall, StateSet
from planner.world.states import default_states, skills_that_make
from planner.world.vocabulary import Relation, floor_name, is_open

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
