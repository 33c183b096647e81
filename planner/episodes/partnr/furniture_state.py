"""The states that things start in: by PARTNR's `initial_furniture_state`, and by the goal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
from pydantic import JsonValue

from planner.episodes.partnr.houses import SceneHouse
from planner.episodes.partnr.instruction_file import Entry, FurnitureStates
from planner.episodes.partnr.placement import UnplaceableError
from planner.world.catalogue import Catalogue
from planner.world.episode import Episode, FurnitureChange
from planner.world.house import Furniture, ObjectPlacement
from planner.world.states import default_states

_NUMBER = re.compile(r"_\d{1,3}$")


def furniture_changes(
    entry: Entry, scene: SceneHouse, seed: int, catalogue: Catalogue
) -> dict[str, FurnitureChange]:
    """How furniture differs from the house at the start, by name; later records win.

    Args:
        entry: of an instruction file.
        scene: the house of its scene.
        seed: for choosing among pieces if fewer are needed.
        catalogue: of the classes.

    Raises:
        UnplaceableError: if a record fits no furniture, or not enough, or names a state that
            some of it does not have.
    """
    rng = np.random.default_rng(seed)
    states: dict[str, dict[str, bool]] = {}
    for record in entry.furniture:
        for piece in _chosen(record, scene, rng, catalogue):
            unfit = default_states().unfit(record.states, piece.affordances)
            if unfit:
                raise UnplaceableError(f"{piece.name} cannot be {unfit[0]}")
            states.setdefault(piece.name, {}).update(record.states)
    return {name: FurnitureChange(states=found) for name, found in states.items()}


def in_other_states(episode: Episode, evaluation: Mapping[str, JsonValue]) -> Episode:
    """The episode in which what has to get a state starts in the other one, as PARTNR's do.

    Of several states one after another the first counts. What the file gives a state keeps it.
    """
    known = default_states()
    before: dict[str, dict[str, bool]] = {}
    propositions = evaluation["propositions"]
    for item in propositions if isinstance(propositions, list) else []:
        if not isinstance(item, dict) or item["function_name"] not in known.predicates:
            continue
        state, value = known.predicates[str(item["function_name"])]
        args = item["args"]
        names = args["objects"] if isinstance(args, dict) else None
        for name in names if isinstance(names, list) else []:
            before.setdefault(str(name), {}).setdefault(state, not value)
    before = {
        name: unusual
        for name, states in before.items()
        if (unusual := {s: value for s, value in states.items() if value != known.usual(s)})
    }
    objects: list[ObjectPlacement] = []
    for thing in episode.objects:
        records = [r for r in episode.initial_state if thing.class_name in r.object_classes]
        said = {state for record in records for state in record.states}
        other = {s: v for s, v in before.pop(thing.name, {}).items() if s not in said}
        objects.append(thing.model_copy(update={"states": {**thing.states, **other}}))
    furniture = dict(episode.furniture)
    for name, states in before.items():
        change = furniture.get(name, FurnitureChange())
        furniture[name] = change.model_copy(update={"states": {**states, **change.states}})
    return episode.model_copy(update={"objects": tuple(objects), "furniture": furniture})


def _chosen(
    record: FurnitureStates, scene: SceneHouse, rng: np.random.Generator, catalogue: Catalogue
) -> list[Furniture]:
    names = {_known(name, scene) for name in record.names}
    classes = {_class(word, catalogue) for word in record.classes}
    rooms = {room for region in record.regions for room in _rooms(region, scene, catalogue)}
    found = [
        piece
        for piece in scene.house.furniture
        if (piece.name in names or piece.class_name in classes)
        and (not record.regions or piece.room in rooms)
    ]
    low, high = record.number or (1, len(found))
    if len(found) < low:
        what = " or ".join((*record.names, *record.classes))
        raise UnplaceableError(f"the house has {len(found)} of {low} {what!r} where they should be")
    if high < len(found):
        count = int(rng.integers(low, high + 1))
        picked = sorted(int(i) for i in rng.choice(len(found), count, replace=False))
        found = [found[i] for i in picked]
    return found


def _known(name: str, scene: SceneHouse) -> str:
    if name not in scene.furniture:
        raise UnplaceableError(scene.unknown.get(name, f"unknown furniture {name!r}"))
    return scene.furniture[name]


def _class(word: str, catalogue: Catalogue) -> str:
    found = catalogue.furniture_name(word)
    if found is None:
        raise UnplaceableError(f"furniture class {word!r} is not in the catalogue")
    return found


def _rooms(region: str, scene: SceneHouse, catalogue: Catalogue) -> Iterator[str]:
    """The room that a region stands for, or all rooms of a class."""
    if region in scene.rooms:
        yield scene.rooms[region]
        return
    class_name = None if _NUMBER.search(region) else catalogue.room_name(region)
    if class_name is None:
        raise UnplaceableError(scene.unknown.get(region, f"unknown region {region!r}"))
    yield from (room.name for room in scene.house.rooms if room.class_name == class_name)
