"""Places an entry's objects in its scene's house, and gives things their first states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import JsonValue

from papers.partnr.episodes.instruction_file import Clutter, Entry, FurnitureStates, Things
from planner.episodes.importing.importer import UnplaceableError
from planner.episodes.importing.simulator_words import SceneHouse, scene_seed
from planner.episodes.wording import Lexicon, Noun, NounKind
from planner.houses.clutter import ObjectRequest, Unplaced, place_objects
from planner.world.catalogue import Catalogue
from planner.world.episode import Episode, FurnitureChange, Requirement
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name

_ARRANGEMENTS_TRIED = 6
_CLUTTER_DRAWS = 12


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """All placements, PARTNR's records in the house's names, and the seed used."""

    objects: tuple[ObjectPlacement, ...]
    records: tuple[Requirement, ...]
    seed: int


def place_entry(
    entry: Entry,
    scene: SceneHouse,
    seed: int,
    catalogue: Catalogue,
    lexicon: Lexicon,
    attempt: int = 0,
) -> PlacedEntry:
    """Places an entry's objects and clutter; each attempt otherwise.

    Raises:
        UnplaceableError: with the first thing that has no class, furniture or free place.
    """
    own_seed = scene_seed(seed, entry.file, entry.episode_id)
    rng = np.random.default_rng([own_seed, attempt] if attempt else own_seed)
    records = tuple(_record(things, scene, catalogue) for things in entry.things)
    requests = [request for record in records for request in _requests(record, scene, rng)]
    objects = _arranged(scene.house, requests, rng)
    for clutter in entry.clutter:
        objects += _clutter(clutter, entry, scene.house, objects, rng, catalogue, lexicon)
    return PlacedEntry(tuple(objects), records, own_seed)


def _record(things: Things, scene: SceneHouse, catalogue: Catalogue) -> Requirement:
    """PARTNR's record in the terms of the house and the catalogue."""
    classes: list[str] = []
    for word in things.object_classes:
        class_name = catalogue.object_name(word)
        if class_name is None:
            raise UnplaceableError(f"object class {word!r} is not in the catalogue")
        missing = [
            state
            for state in things.states
            if default_states().affordance_of[state]
            not in catalogue.objects[class_name].affordances
        ]
        if missing:
            raise UnplaceableError(f"a {class_name} cannot be {missing[0]}")
        classes.append(class_name)
    for region in things.regions:
        if region not in scene.rooms:
            raise UnplaceableError(scene.unknown.get(region, f"unknown region {region!r}"))
    return Requirement(
        number=things.number,
        object_classes=tuple(classes),
        furniture_names=tuple(_furniture(things, scene)),
        allowed_regions=tuple(scene.rooms[region] for region in things.regions),
        states=things.states,
    )


def _furniture(things: Things, scene: SceneHouse) -> Iterator[str]:
    for name in things.furniture_names:
        if name == "floor":
            if not things.regions:
                raise UnplaceableError("the floor of no region is named")
            yield from (floor_name(scene.rooms[region]) for region in things.regions)
        elif name not in scene.furniture:
            raise UnplaceableError(scene.unknown.get(name, f"unknown furniture {name!r}"))
        else:
            yield _allowed(scene.furniture[name], things, scene)


def _allowed(name: str, things: Things, scene: SceneHouse) -> str:
    """The furniture, if it is where the record says; elsewhere it would be another piece."""
    home = scene.house.furniture_by_name[name].room
    allowed = {scene.rooms[region] for region in things.regions}
    if allowed and home not in allowed:
        raise UnplaceableError(f"{name} is in {home} by most entries of the scene")
    return name


def _requests(
    record: Requirement, scene: SceneHouse, rng: np.random.Generator
) -> Iterator[ObjectRequest]:
    """One request per object: every class once before any twice, in random order."""
    classes = [str(name) for name in rng.permutation(np.array(record.object_classes, dtype=str))]
    relation, furniture = _relation(record.furniture_names, scene.house)
    for index in range(record.number):
        class_name = classes[index % len(classes)]
        yield ObjectRequest((class_name,), relation, furniture, record.states)


def _relation(names: Sequence[str], house: House) -> tuple[Relation, tuple[str, ...]]:
    """On top if any of the furniture has a surface; otherwise inside."""
    pieces = house.furniture_by_name
    on = tuple(name for name in names if name not in pieces or pieces[name].surfaces)
    return (Relation.ON, on) if on else (Relation.WITHIN, tuple(names))


def _arranged(
    house: House, requests: list[ObjectRequest], rng: np.random.Generator
) -> list[ObjectPlacement]:
    """Tries several arrangements, starting each with what did not fit before."""
    order = list(requests)
    unplaced: list[Unplaced] = []
    for _ in range(_ARRANGEMENTS_TRIED):
        outcome = place_objects(house, order, rng)
        unplaced = [item for item in outcome if isinstance(item, Unplaced)]
        if not unplaced:
            return [item for item in outcome if isinstance(item, ObjectPlacement)]
        first = [item.request for item in unplaced]
        order = first + [request for request in order if not any(request is f for f in first)]
    for request in [item.request for item in unplaced]:
        order[order.index(request)] = ObjectRequest(
            request.classes, Relation.WITHIN, request.furniture, request.states
        )
    outcome = place_objects(house, order, rng)
    for item in outcome:
        if isinstance(item, Unplaced):
            raise UnplaceableError(unplaced[0].reason)
    return [item for item in outcome if isinstance(item, ObjectPlacement)]


def _clutter(
    clutter: Clutter,
    entry: Entry,
    house: House,
    objects: Sequence[ObjectPlacement],
    rng: np.random.Generator,
    catalogue: Catalogue,
    lexicon: Lexicon,
) -> list[ObjectPlacement]:
    """Extra objects in likely places, of no class that the task or its wording names."""
    barred = {catalogue.object_name(word) for word in clutter.excluded_classes}
    barred |= {item.class_name for item in objects}
    for item in lexicon.items(entry.instruction):
        if isinstance(item, Noun) and item.kind is NounKind.OBJECT:
            barred |= item.classes
    # Classes likely to be on top of something in this house, in the catalogue's order.
    owned = {piece.class_name for piece in house.furniture}
    likely = [
        name
        for name, item in catalogue.objects.items()
        if name not in barred
        and any(p.furniture in owned and p.relation is Relation.ON for p in item.places)
    ]
    if not likely:
        raise UnplaceableError("no class is left for clutter")
    placed: list[ObjectPlacement] = []
    for _ in range(clutter.number):
        placed.append(_one_more(likely, house, [*objects, *placed], rng))
    return placed


def _one_more(
    likely: Sequence[str],
    house: House,
    occupied: Sequence[ObjectPlacement],
    rng: np.random.Generator,
) -> ObjectPlacement:
    for _ in range(_CLUTTER_DRAWS):
        request = ObjectRequest((likely[int(rng.integers(len(likely)))],))
        (outcome,) = place_objects(house, [request], rng, occupied)
        if isinstance(outcome, ObjectPlacement):
            return outcome
    raise UnplaceableError("no likely place has room for more clutter")


# The states that things start in: by PARTNR's `initial_furniture_state`, and by the goal.

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
