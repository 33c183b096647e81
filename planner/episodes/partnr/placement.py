"""Places an entry's objects in its scene's house."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.episodes.partnr.houses import SceneHouse, scene_seed
from planner.episodes.partnr.instruction_file import Clutter, Entry, Things
from planner.episodes.wording import Lexicon, Noun, NounKind
from planner.houses.clutter import ObjectRequest, Unplaced, place_objects
from planner.world.catalogue import Catalogue
from planner.world.episode import Requirement
from planner.world.house import House, ObjectPlacement
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name

_ARRANGEMENTS_TRIED = 6
_CLUTTER_DRAWS = 12


class UnplaceableError(Exception):
    """An entry that does not fit its scene's house; the message is the reason."""


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
