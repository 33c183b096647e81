"""Whether a goal can be reached: what fits in one place, and final positions of all things."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from pydantic import JsonValue

from planner.episodes.recipes.file import PLACING, Target
from planner.evaluation.task import Predicate
from planner.houses.clutter import ObjectRequest, Unplaced, place_objects
from planner.world.episode import Episode
from planner.world.house import House, ObjectPlacement
from planner.world.vocabulary import Relation, floor_name

_ATTEMPTS = 6
_SPOTS_TRIED = 150
# Well under the 0.5 m of is_next_to, as agents place things.
_NEXT_TO_M = 0.35

Arrangement = dict[str, ObjectPlacement]


def arrangements(
    house: House,
    objects: Sequence[ObjectPlacement],
    found: Sequence[Target],
    rng: np.random.Generator,
) -> list[Arrangement] | None:
    """Where everything lies after each step of a goal, or None if no arrangement was found.

    Targets without a step are met in the first.
    """
    steps = sorted({target.step or 0 for target in found})
    for _ in range(_ATTEMPTS):
        lying = {item.name: item for item in objects}
        states: list[Arrangement] = []
        for step in steps:
            targets = [target for target in found if (target.step or 0) == step]
            after = _Step(house, lying, targets, rng).arranged()
            if after is None:
                break
            states.append(after)
            lying = after
        else:
            return states
    return None


class _Step:
    """One step: its things are removed and put back one by one."""

    def __init__(
        self,
        house: House,
        lying: Mapping[str, ObjectPlacement],
        targets: Sequence[Target],
        rng: np.random.Generator,
    ) -> None:
        self._house = house
        self._before = dict(lying)
        self._targets = targets
        self._rng = rng
        self._rooms = {piece.name: piece.room for piece in house.furniture}
        self._rooms |= {floor_name(room.name): room.name for room in house.rooms}
        self._moves = self._chosen()
        self._lying = {n: item for n, item in lying.items() if n not in self._moves}

    def arranged(self) -> Arrangement | None:
        """Everything after the step, or None if something could not be placed this time."""
        order = sorted(self._moves, key=self._ease)
        for name in order:
            placed = self._put(name)
            if placed is None:
                return None
            self._lying[name] = placed
            self._bring_along(name)
        return dict(self._lying)

    def _bring_along(self, name: str) -> None:
        """Moves everything in or on a thing along with it."""
        before, after = self._before[name], self._lying[name]
        turn = after.pose[3] - before.pose[3]
        c, s = math.cos(turn), math.sin(turn)
        for load in [item for item in self._lying.values() if item.parent == name]:
            dx, dy = load.pose[0] - before.pose[0], load.pose[1] - before.pose[1]
            pose = (
                after.pose[0] + dx * c - dy * s,
                after.pose[1] + dx * s + dy * c,
                after.pose[2] + load.pose[2] - before.pose[2],
                load.pose[3] + turn,
            )
            if load.pose != pose:
                self._lying[load.name] = load.model_copy(update={"pose": pose})
                self._bring_along(load.name)

    def _ease(self, name: str) -> tuple[bool, bool, float]:
        """Sort key: things that others go into or next to first, then the largest."""
        into = any(place in self._moves for place in self._moves[name][1])
        follows = any(
            t.predicate is Predicate.IS_NEXT_TO and name in t.names for t in self._targets
        )
        size = self._before[name].size_m
        return (into, follows, -size[0] * size[1])

    def _chosen(self) -> dict[str, tuple[Relation, tuple[str, ...]]]:
        """What is moved: by name the relation and the acceptable furniture."""
        moves: dict[str, tuple[Relation, tuple[str, ...]]] = {}
        shared: dict[str, str] = {}
        used: dict[str, list[str]] = {}
        for target in self._targets:
            if target.predicate not in PLACING:
                continue
            free = [name for name in target.names if name not in moves] or list(target.names)
            for name in [str(n) for n in self._rng.permutation(free)][: target.number]:
                relation, places = self._places(target, name, moves)
                tied, apart = target.spec.same_place, target.spec.other_place
                if apart:
                    places = tuple(p for p in places if p not in used.setdefault(apart, []))
                if places and (tied or apart):
                    place = str(self._rng.choice(places))
                    if tied:
                        place = shared.setdefault(tied, place)
                    if apart:
                        used[apart].append(place)
                    places = (place,)
                moves[name] = (relation, places)
        for target in self._targets:
            if target.predicate is Predicate.IS_NEXT_TO and not set(target.names) & set(moves):
                # Wherever its neighbour will be.
                moves |= dict.fromkeys(target.names[: target.number], (Relation.ON, ()))
        return moves

    def _places(
        self, target: Target, name: str, moves: Mapping[str, tuple[Relation, tuple[str, ...]]]
    ) -> tuple[Relation, tuple[str, ...]]:
        if target.predicate is Predicate.IS_ON_TOP:
            return Relation.ON, target.at
        if target.predicate is Predicate.IS_INSIDE:
            return Relation.WITHIN, target.at
        known = moves.get(name)
        if target.predicate is Predicate.IS_ON_FLOOR:
            rooms = [room.name for room in self._house.rooms]
            here = {self._rooms[place] for place in known[1]} if known else set(rooms)
            return Relation.ON, tuple(floor_name(room) for room in rooms if room in here)
        if known is None:
            return Relation.ON, tuple(floor_name(room) for room in target.at)
        return known[0], tuple(place for place in known[1] if self._rooms[place] in target.at)

    def _put(self, name: str) -> ObjectPlacement | None:
        relation, places = self._moves[name]
        if not places:
            relation, places = self._beside_others(name)
        if not places:
            return None
        before = self._before[name]
        request = ObjectRequest((before.class_name,), relation, places, before.states)
        others = list(self._lying.values())
        for _ in range(_SPOTS_TRIED):
            (outcome,) = place_objects(self._house, [request], self._rng, others)
            if not isinstance(outcome, ObjectPlacement):
                return None
            placed = outcome.model_copy(update={"name": name})
            if all(self._beside(placed, target) for target in self._targets):
                return placed
        return None

    def _beside_others(self, name: str) -> tuple[Relation, tuple[str, ...]]:
        """How and where the neighbours of a thing without a place of its own lie."""
        near = [t for t in self._targets if t.predicate is Predicate.IS_NEXT_TO and name in t.names]
        there = [self._lying[other] for t in near for other in t.at if other in self._lying]
        if not there:
            return Relation.ON, ()
        return Relation(there[0].relation), tuple(item.parent for item in there)

    def _beside(self, placed: ObjectPlacement, target: Target) -> bool:
        """Whether a thing lies next to those of its neighbours that are already placed."""
        if target.predicate is not Predicate.IS_NEXT_TO or placed.name not in target.entities:
            return True
        others = target.at if placed.name in target.names else target.names
        there = [self._lying[name] for name in others if name in self._lying]
        return not there or any(_next_to(placed, other) for other in there)


def _next_to(one: ObjectPlacement, other: ObjectPlacement) -> bool:
    """Agents place things next to each other only on the same surface or in the same interior."""
    together = (one.parent, one.part) == (other.parent, other.part)
    return together and one.box.horizontal_gap_m(other.box) <= _NEXT_TO_M


# Whether everything that a goal sends to one place fits there together.

_ARRANGEMENTS_TRIED = 4
_RELATION = {"is_on_top": Relation.ON, "is_inside": Relation.WITHIN}


def why_unplaceable(episode: Episode, house: House, evaluation: Mapping[str, JsonValue]) -> str:
    """Why a goal cannot be met for lack of space; "" if it can.

    Tied things are tried together at each place allowed by the tie, things with only one possible
    place there, and others individually.
    """
    propositions = _list(evaluation["propositions"])
    objects = {item.name: item for item in episode.objects}
    moved = {name for item in propositions for name in _names(item, "objects")}
    staying = [item for item in episode.objects if item.name not in moved]
    rng = np.random.default_rng(episode.seed)
    for members, places in _groups(evaluation, propositions):
        things = [
            (objects[name], _RELATION[str(item["function_name"])])
            for item in members
            for name in _names(item, "objects")[: _number(item)]
        ]
        if not places:
            return f"{things[0][0].name} and others have no place together"
        if not any(_fit(things, place, house, staying, rng) for place in places):
            what = f"{len(things)} things have no room together"
            if len(things) == 1:
                what = f"{things[0][0].name} has no room"
            return f"{what} on {places[0]} or one like it"
    return ""


def _groups(
    evaluation: Mapping[str, JsonValue], propositions: Sequence[Mapping[str, JsonValue]]
) -> Iterator[tuple[list[Mapping[str, JsonValue]], list[str]]]:
    """Propositions that must share a piece of furniture, with the pieces allowed."""
    tied: set[int] = set()
    for constraint in _list(evaluation["constraints"]):
        indices = constraint.get("proposition_indices")
        if constraint["type"] != "SameArgConstraint" or not isinstance(indices, list):
            continue
        if constraint.get("arg_indices") != [1] * len(indices):
            continue
        members = [i for i in indices if isinstance(i, int)]
        if all(propositions[i]["function_name"] in _RELATION for i in members):
            tied.update(members)
            sets = [_names(propositions[i], "receptacles") for i in members]
            common = [name for name in sets[0] if all(name in other for other in sets)]
            yield [propositions[i] for i in members], common
    alone: dict[str, list[Mapping[str, JsonValue]]] = defaultdict(list)
    for index, item in enumerate(propositions):
        places = _names(item, "receptacles")
        if index in tied or item["function_name"] not in _RELATION:
            continue
        if len(places) == 1:
            alone[places[0]].append(item)
        else:
            yield [item], places
    for place, members_there in alone.items():
        yield members_there, [place]


def _fit(
    things: Sequence[tuple[ObjectPlacement, Relation]],
    place: str,
    house: House,
    staying: Sequence[ObjectPlacement],
    rng: np.random.Generator,
) -> bool:
    requests = [ObjectRequest((item.class_name,), relation, (place,)) for item, relation in things]
    # The largest first, so that small things fill the gaps.
    requests.sort(key=lambda request: -_footprint(request, things))
    for _ in range(_ARRANGEMENTS_TRIED):
        outcome = place_objects(house, requests, rng, staying)
        if not any(isinstance(item, Unplaced) for item in outcome):
            return True
    return False


def _footprint(request: ObjectRequest, things: Sequence[tuple[ObjectPlacement, Relation]]) -> float:
    return max(
        item.size_m[0] * item.size_m[1]
        for item, _ in things
        if item.class_name == request.classes[0]
    )


def _list(value: JsonValue) -> list[Mapping[str, JsonValue]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _names(proposition: Mapping[str, JsonValue], argument: str) -> list[str]:
    args = proposition["args"]
    found = args.get(argument) if isinstance(args, dict) else None
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _number(proposition: Mapping[str, JsonValue]) -> int | None:
    """How many of several objects are needed; None if each one is."""
    args = proposition["args"]
    number = args.get("number") if isinstance(args, dict) else None
    return number if isinstance(number, int) else None
