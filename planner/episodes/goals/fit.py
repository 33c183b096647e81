"""Whether everything that a goal sends to one place fits there together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from pydantic import JsonValue

from planner.houses.clutter import ObjectRequest, Unplaced, place_objects
from planner.world.episode import Episode
from planner.world.house import House, ObjectPlacement
from planner.world.vocabulary import Relation

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
