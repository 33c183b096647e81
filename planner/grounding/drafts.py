"""Which known things fit a description, and the propositions that are made of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median

from pydantic import JsonValue

from planner.grounding.scene import Scene, Thing, every_one, is_at, is_room_kind, leftmost, of_kind
from planner.language.goal_form import Anchor, Description, Mention, NounPhrase, OneOf, Place
from planner.language.lexicon import (
    BY_HEIGHT,
    BY_SIDE,
    JOINT_STATES,
    Amount,
    Pick,
    Relation,
    Size,
    Spot,
    affordance_of,
    is_stacked,
)
from planner.world.shapes import AS_SEEN, Color
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, is_open

# Which known things fit a description.

_BY_VOLUME = {Pick.BIGGEST: True, Pick.SMALLEST: False}
# Nobody knows what things weigh: it is asked which one is meant.
UNWEIGHED = frozenset({Pick.HEAVIEST, Pick.LIGHTEST})
_BY_DISTANCE = {Pick.NEAREST: False, Pick.FARTHEST: True}
_SIZES: Mapping[Size, tuple[Callable[[Thing], float], bool]] = {
    Size.BIG: (lambda thing: math.prod(thing.box.size_m), True),
    Size.SMALL: (lambda thing: math.prod(thing.box.size_m), False),
    Size.TALL: (lambda thing: thing.box.size_m[2], True),
    Size.SHORT: (lambda thing: thing.box.size_m[2], False),
}


def has_state(thing: Thing, word: str) -> bool:
    """Whether a thing has a state, by the form's word; what is unknown is as usual."""
    if affordance_of(word) not in thing.affordances:
        return False
    if word in JOINT_STATES:
        return bool(is_open(thing.openness)) is (word == "open")
    table = default_states()
    state, value = table.by_word()[word]
    return thing.states.get(state, table.usual(state)) is value


def _may_have_state(thing: Thing, word: str) -> bool:
    """Whether it is open if a thing has a state: not every memory sees, say, what is dirty."""
    if affordance_of(word) not in thing.affordances:
        return False
    if word in JOINT_STATES:
        return thing.openness is None
    return default_states().by_word()[word][0] not in thing.states


class Fitting:
    """Descriptions in one scene, in which they hold.

    Args:
        scene: as things were when the instruction was given.
        labelled: names of the things of each label so far.
    """

    def __init__(self, scene: Scene, labelled: Mapping[str, Sequence[str]]) -> None:
        self._scene = scene
        self._labelled = labelled
        self._kinds: dict[tuple[str, bool], list[Thing]] = {}

    def names(self, phrase: NounPhrase | Anchor) -> list[str]:
        """All known things that fit, by name, however many are meant."""
        if isinstance(phrase, Mention):
            return list(self._labelled.get(phrase.label, ()))
        if isinstance(phrase, OneOf):
            return list(dict.fromkeys(n for inner in phrase.one_of for n in self.names(inner)))
        if isinstance(phrase, Description):
            return [thing.name for thing in self.things(phrase)]
        if phrase in (Spot.ME, Spot.HERE):
            speaker = self._scene.speaker
            here = speaker and (speaker.name if phrase is Spot.ME else speaker.room)
            return [here] if here else []
        return []

    def things(self, described: Description) -> list[Thing]:
        """All known things that a description fits, by name."""
        apart = _given_anchor(described)
        in_room = any(
            isinstance(place.anchor, Description) and is_room_kind(place.anchor.kind)
            for place in described.where
        )
        places = [(p.relation, self._anchors(p)) for p in described.where if p is not apart]
        found = [
            thing
            for thing in self._of_kind(described.kind, anywhere=in_room)
            if all(self._is_at(thing, relation, anchors) for relation, anchors in places)
        ]
        found = self._in_state(found, described)
        found = _looking(found, described.color, lambda thing: thing.color)
        found = _looking(found, described.material, lambda thing: thing.material)
        if described.holding:
            found = [thing for thing in found if self._holds(thing, described)]
        unwanted = {name for phrase in described.but for name in self.names(phrase)}
        for label in described.other_than:
            names = self._labelled.get(label, ())
            # Of several that a label may stand for, it is not known which one differs.
            unwanted |= set(names) if len(names) == 1 else set()
        found = [thing for thing in found if thing.name not in unwanted]
        found = _sized(found, described)
        return self._picked(found, described, apart)

    def untold(self, phrase: Description) -> bool:
        """Whether such furniture is known, or is a part of some, that its place does not tell."""
        if not is_stacked(phrase.kind) or self.things(phrase):
            return False
        at = [name for place in phrase.where for name in self.names(place.anchor)]
        if any(self._scene.things[name].kind is EntityKind.FURNITURE for name in at):
            return True
        return phrase.pick in BY_HEIGHT | BY_SIDE and bool(self.things(every_one(phrase)))

    def _in_state(self, things: list[Thing], described: Description) -> list[Thing]:
        """Those that have the states; where none is known to, "the dirty bowl" is one that may."""
        words = described.states
        found = [thing for thing in things if all(has_state(thing, word) for word in words)]
        if found or self._scene.complete or not described.definite:
            return found
        if described.count is Amount.ALL:
            return []
        return [
            thing
            for thing in things
            if all(has_state(thing, word) or _may_have_state(thing, word) for word in words)
        ]

    def _of_kind(self, kind: str, *, anywhere: bool) -> list[Thing]:
        if (kind, anywhere) not in self._kinds:
            self._kinds[kind, anywhere] = of_kind(kind, self._scene, anywhere=anywhere)
        return self._kinds[kind, anywhere]

    def _is_at(self, thing: Thing, relation: Relation, anchors: Sequence[Thing]) -> bool:
        return any(
            is_at(self._scene, thing, relation, anchor)
            # "The drawer of the dresser" is the dresser.
            or (thing.name == anchor.name and relation in (Relation.AT, Relation.IN))
            for anchor in anchors
        )

    def _holds(self, thing: Thing, described: Description) -> bool:
        return all(
            any(self._is_at(self._scene.things[name], Relation.AT, [thing]) for name in names)
            for names in map(self.names, described.holding)
        )

    def _picked(
        self, found: list[Thing], described: Description, apart: Place | None
    ) -> list[Thing]:
        pick, count, first = described.pick, described.count, (described.nth or 1) - 1
        if pick in BY_HEIGHT:
            return _at_height(found, pick, first)
        alike = len({(thing.class_name, thing.room) for thing in found}) == 1 < len(found)
        if pick in BY_SIDE and is_stacked(described.kind) and not alike:
            # All drawers of a dresser are one thing, and those elsewhere are not beside it.
            return []
        if pick is None or not isinstance(count, int) or len(found) <= count:
            return found[first:]
        if pick in _BY_VOLUME:
            key = _SIZES[Size.BIG][0]
            ranked = sorted(found, key=key, reverse=_BY_VOLUME[pick])
        elif pick in _BY_DISTANCE:
            near = self._viewpoint() if apart is None else None
            near = near or next(iter(self._anchors(apart)), None)
            if near is None:
                return found
            x, y, _ = near.position_m
            ranked = sorted(
                found,
                key=lambda t: math.hypot(t.position_m[0] - x, t.position_m[1] - y),
                reverse=_BY_DISTANCE[pick],
            )
        elif pick is Pick.THINNEST:
            ranked = sorted(found, key=lambda thing: min(thing.box.size_m))
        elif pick in UNWEIGHED:
            return found
        else:
            ranked = leftmost(found, self._viewpoint())
            ranked = ranked if pick is Pick.LEFTMOST else ranked[::-1]
        return ranked[first : first + count]

    def _anchors(self, place: Place | None) -> list[Thing]:
        return [] if place is None else [self._scene.things[n] for n in self.names(place.anchor)]

    def _viewpoint(self) -> Thing | None:
        agents = self._scene.of_kind(EntityKind.AGENT)
        return self._scene.speaker or next(iter(agents), None)


# Furniture whose bottoms differ by less stands side by side.
_LEVEL_M = 0.2


def _at_height(found: list[Thing], pick: Pick, first: int) -> list[Thing]:
    """The things of one level of several that are above each other; none if that is not told."""
    levels_m: list[float] = []
    for bottom_m in sorted(thing.box.minimum_m[2] for thing in found):
        if not levels_m or bottom_m - levels_m[-1] >= _LEVEL_M:
            levels_m.append(bottom_m)
    if pick is Pick.MIDDLE:
        first = len(levels_m) // 2 if len(levels_m) % 2 else len(levels_m)
    if not 1 < len(levels_m) > first:
        return []
    level_m = levels_m[-1 - first] if pick is Pick.HIGHEST else levels_m[first]
    return [thing for thing in found if 0 <= thing.box.minimum_m[2] - level_m < _LEVEL_M]


def _given_anchor(described: Description) -> Place | None:
    """What "the lamp nearest to the bed" is near to."""
    if described.pick not in _BY_DISTANCE:
        return None
    return next((p for p in described.where if p.relation is Relation.NEXT_TO), None)


def _looking(
    found: list[Thing], wanted: str | None, look: Callable[[Thing], str | None]
) -> list[Thing]:
    """Those that look so; where nobody knows of any, those that may."""
    if wanted is None:
        return found
    certain = [thing for thing in found if look(thing) == wanted]
    if not certain and isinstance(wanted, Color) and wanted in AS_SEEN:
        certain = [thing for thing in found if look(thing) == AS_SEEN[wanted]]
    return certain or [thing for thing in found if look(thing) is None]


def _sized(found: list[Thing], described: Description) -> list[Thing]:
    """The big ones are those above the middle; "the two big ones" are the two biggest."""
    if described.size is None or len(found) < 2:
        return found
    measure, big = _SIZES[described.size]
    if described.definite and isinstance(described.count, int):
        ranked = sorted(found, key=measure, reverse=big)[: described.count]
    else:
        middle = median(measure(thing) for thing in found)
        ranked = [t for t in found if (measure(t) >= middle if big else measure(t) <= middle)]
    return [thing for thing in found if thing in ranked]


PLACING = {
    "is_on_top": "receptacles",
    "is_inside": "receptacles",
    "is_in_room": "rooms",
    "is_on_floor": "",
}
_RELATIONS = {
    "is_on_top": Relation.ON_TOP,
    "is_inside": Relation.IN,
    "is_in_room": Relation.IN,
    "is_next_to": Relation.NEXT_TO,
}


def predicate_of(state: str) -> str:
    """The predicate that asks for a state, by the form's word for it."""
    return f"is_{state.replace(' ', '_')}"


class Hold(StrEnum):
    """When a proposition must hold: at the end, throughout, or never."""

    ACHIEVED = "achieved"
    ALWAYS = "AlwaysConstraint"
    NEVER = "NeverConstraint"


@dataclass(slots=True)
class Draft:
    """One proposition.

    Attributes:
        request: index of its request.
        step: of the goal; None without an order.
        lists: one list of names for states and the floor, two for relations, one for each member
            of a cluster.
        keys: for each list the key of the description that it stands for, where it is left open
            which of the names is meant.
        same: whether all need the same one of the second list.
    """

    request: int
    step: int | None
    predicate: str
    lists: tuple[tuple[str, ...], ...]
    number: int = 1
    keys: tuple[str, ...] = ("", "")
    same: bool = False
    hold: Hold = Hold.ACHIEVED

    def document(self) -> dict[str, JsonValue]:
        """As in an evaluation."""
        return {"function_name": self.predicate, "args": self._args()}

    def _args(self) -> dict[str, JsonValue]:
        if self.predicate == "is_clustered":
            return {"entities": [list(names) for names in self.lists]}
        count: dict[str, JsonValue] = {"number": self.number} if self.number > 1 else {}
        if self.predicate == "is_next_to":
            a, b = self.lists
            return {"entities_a": list(a), "entities_b": list(b), **count}
        args: dict[str, JsonValue] = {"objects": list(self.lists[0]), **count}
        if len(self.lists) > 1:
            args[PLACING[self.predicate]] = list(self.lists[1])
        if self.same and self.number > 1:
            args["is_same_b"] = True
        return args

    def holds(self, scene: Scene) -> bool:
        """Whether it is true of what is known."""
        true = sum(self._is_true_of(scene, name) for name in self.lists[0])
        return true >= self.number

    def _is_true_of(self, scene: Scene, name: str) -> bool:
        thing = scene.things.get(name)
        if thing is None or self.predicate == "is_clustered":
            return False
        if self.predicate == "is_on_floor":
            parent = scene.things.get(thing.parent or "")
            return parent is not None and parent.is_floor
        if len(self.lists) < 2:
            return has_state(thing, self.predicate.removeprefix("is_").replace("_", " "))
        return any(
            is_at(scene, thing, _RELATIONS[self.predicate], scene.things[other])
            for other in self.lists[1]
            if other in scene.things
        )


@dataclass(slots=True)
class Drafts:
    """All propositions of a goal, and which arguments must differ.

    Attributes:
        scene: as things were at first.
        items: those to be achieved or kept.
        slices: what things become when the goal has them sliced.
        banned: those that must never hold; they come last, so that planners may ignore them.
    """

    scene: Scene
    items: list[Draft] = field(default_factory=list)
    banned: list[Draft] = field(default_factory=list)
    slices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    different: list[tuple[tuple[int, int], ...]] = field(default_factory=list)

    def add(self, draft: Draft) -> int:
        """Adds a proposition; its index in `items`, -1 if it must never hold."""
        if draft.hold is not Hold.NEVER:
            if len(draft.lists[0]) == 1 and (pieces := self.slices.get(draft.lists[0][0])):
                draft.lists, draft.number = (pieces, *draft.lists[1:]), len(pieces)
            self.items.append(draft)
            return len(self.items) - 1
        if not draft.holds(self.scene):
            # What is so already cannot become so.
            self.banned.append(draft)
        return -1

    def divide(self, slices: Mapping[str, tuple[str, ...]]) -> None:
        """Things become slices, which further propositions are about."""
        self.slices |= {name: pieces for name, pieces in slices.items() if pieces}

    @property
    def all(self) -> list[Draft]:
        """In the order of the evaluation."""
        return [*self.items, *self.banned]

    def evaluation(self) -> dict[str, JsonValue] | None:
        """The evaluation; None without propositions."""
        if not self.all:
            return None
        constraints: list[JsonValue] = []
        groups = self._groups()
        if len(groups) > 1:
            constraints.append({"type": "TemporalConstraint", "groups": [[*g] for g in groups]})
        constraints += [_tie("SameArgConstraint", members) for members in self._same()]
        constraints += [_tie("DifferentArgConstraint", members) for members in self.different]
        passing = self._passing()
        for hold in (Hold.ALWAYS, Hold.NEVER):
            if indices := [i for i, d in enumerate(self.all) if d.hold is hold]:
                constraints.append({"type": str(hold), "proposition_indices": [*indices]})
        if passing:
            lasting = [i for i in range(len(self.items)) if i not in passing]
            constraints.append(
                {"type": "TerminalSatisfactionConstraint", "proposition_indices": [*lasting]}
            )
        return {
            "propositions": [item.document() for item in self.all],
            "dependencies": self._dependencies(groups),
            "constraints": constraints,
        }

    def _groups(self) -> list[list[int]]:
        steps: dict[int, list[int]] = {}
        for i, draft in enumerate(self.items):
            if draft.step is not None and draft.hold is Hold.ACHIEVED:
                steps.setdefault(draft.step, []).append(i)
        return [steps[step] for step in sorted(steps)]

    def _dependencies(self, groups: Sequence[Sequence[int]]) -> list[JsonValue]:
        """What is true already counts only after the step before, or it could never be done."""
        found: list[JsonValue] = []
        for earlier, later in itertools.pairwise(groups):
            early = [i for i in later if self.items[i].holds(self.scene)]
            if early:
                found.append(
                    {
                        "proposition_indices": [*early],
                        "depends_on": [*earlier],
                        "relation_type": "after_satisfied",
                    }
                )
        return found

    def _same(self) -> list[tuple[tuple[int, int], ...]]:
        """The arguments that stand for the same thing, though any of several may be it."""
        found: dict[str, list[tuple[int, int]]] = {}
        for i, draft in enumerate(self.items):
            for argument, key in enumerate(draft.keys[: len(draft.lists)]):
                if key:
                    found.setdefault(key, []).append((i, argument))
        for members in found.values():
            for i, argument in members:
                self.items[i].same = self.items[i].same or argument == 1
        return [tuple(members) for members in found.values() if len(members) > 1]

    def _passing(self) -> set[int]:
        """What a later step undoes, so that it need not hold at the end."""
        return {
            i
            for i, draft in enumerate(self.items)
            for later in self.items
            if draft.step is not None
            and later.step is not None
            and draft.step < later.step
            and self._undoes(draft, later)
        } | {
            i
            for i, draft in enumerate(self.items)
            if any(name in self.slices for name in draft.lists[0])
        }

    @staticmethod
    def _undoes(draft: Draft, later: Draft) -> bool:
        if set(draft.lists[0]).isdisjoint(later.lists[0]):
            return False
        if draft.predicate in _RELATIONS or draft.predicate == "is_on_floor":
            moves = later.predicate in PLACING
            return moves and (draft.predicate, draft.lists[1:]) != (
                later.predicate,
                later.lists[1:],
            )
        if {draft.predicate, later.predicate} == set(map(predicate_of, JOINT_STATES)):
            return True
        table = default_states().predicates
        if draft.predicate.startswith("is_filled_with") and later.predicate == "is_empty":
            return True
        one, other = table.get(draft.predicate), table.get(later.predicate)
        if one is None or other is None:
            return False
        return one[0] == other[0] and one[1] != other[1]


def _tie(kind: str, members: Sequence[tuple[int, int]]) -> JsonValue:
    return {
        "type": kind,
        "proposition_indices": [i for i, _ in members],
        "arg_indices": [argument for _, argument in members],
    }


PLACE, GRASPED = "place_", "grasped_"


def criteria_at_end(
    places: Sequence[tuple[str, ...]], grasped: Sequence[tuple[str, ...]]
) -> Mapping[str, JsonValue] | None:
    """Where the robot shall be, and what in its hand, as criteria of an episode; None if nothing.

    Each is any one of some names.
    """
    where: dict[str, JsonValue] = {f"{PLACE}{k}": list(n) for k, n in enumerate(places)}
    held: dict[str, JsonValue] = {f"{GRASPED}{k}": list(n) for k, n in enumerate(grasped)}
    success: list[JsonValue] = [["CLOSE", "robot", name] for name in where]
    success += [["HELD", name, "robot"] for name in held]
    return {"variables": where | held, "success": success} if success else None
