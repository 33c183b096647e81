"""Starts the tasks that a model proposes: places their things, and clutter not named by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from planner.episodes.generation.candidates import RejectedError
from planner.episodes.generation.model_replies import Placed, Task
from planner.episodes.recipes.build import MAX_CLUTTER, MIN_CLUTTER, SPLIT_OF_HOUSE, TEAM
from planner.houses.clutter import ObjectRequest, place_objects
from planner.language.lexicon import default_lexicon
from planner.language.tokens import tokens_of
from planner.world.catalogue import default_catalogue
from planner.world.episode import EPISODE_VERSION, Episode
from planner.world.house import House, ObjectPlacement
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name
from planner.world.word_meanings import default_word_meanings

_FLOOR = "floor"


def started(task: Task, house: House, name: str, seed: int) -> Episode:
    """The episode of a task, without an evaluation.

    Raises:
        RejectedError: if it names what does not exist, or something has no place.
    """
    rng = np.random.default_rng(seed)
    wanted = [item for placed in task.initial_state for item in _requests(placed, house)]
    asked = place_objects(house, wanted, rng)
    objects = [item for item in asked if isinstance(item, ObjectPlacement)]
    if len(objects) < len(asked):
        raise RejectedError("no room for the start")
    objects += _clutter(house, objects, _named(task.instruction), rng)
    return Episode.model_validate(
        {
            "version": EPISODE_VERSION,
            "episode_id": name,
            "house": house.name,
            "split": SPLIT_OF_HOUSE[house.split],
            "instruction": " ".join(task.instruction.split()),
            "seed": seed,
            "agents": TEAM,
            "objects": objects,
        }
    )


def _clutter(
    house: House, asked: Sequence[ObjectPlacement], named: set[str], rng: np.random.Generator
) -> list[ObjectPlacement]:
    """More things in likely places, of no class that the task has or names (PARTNR-D31)."""
    barred = {item.class_name for item in asked} | named
    owned = {piece.class_name for piece in house.furniture}
    likely = [
        item.name
        for item in default_catalogue().objects.values()
        if item.name not in barred
        and any(p.furniture in owned and p.relation is Relation.ON for p in item.places)
    ]
    count = int(rng.integers(MIN_CLUTTER, MAX_CLUTTER + 1))
    # Some do not fit; twice as many are enough.
    drawn = [ObjectRequest((str(cls),)) for cls in rng.choice(likely, 2 * count)]
    placed = place_objects(house, drawn, rng, asked)
    return [item for item in placed if isinstance(item, ObjectPlacement)][:count]


def _requests(placed: Placed, house: House) -> Iterator[ObjectRequest]:
    """One request for each thing of a record."""
    catalogue = default_catalogue()
    classes = [catalogue.object_name(word) for word in placed.object_classes]
    known = [cls for cls in classes if cls is not None]
    places = tuple(_places(placed, house))
    if len(known) < len(classes) or not places:
        raise RejectedError("names what the house lacks")
    pieces = house.furniture_by_name
    on = tuple(name for name in places if name not in pieces or pieces[name].surfaces)
    relation = Relation.ON if on else Relation.WITHIN
    for k in range(placed.number):
        cls = known[k % len(known)]
        states = _states(placed, cls)
        yield ObjectRequest((cls,), relation, on or places, states)


def _places(placed: Placed, house: House) -> Iterator[str]:
    rooms = {room.name for room in house.rooms}
    regions = [room for room in placed.allowed_regions if room in rooms]
    for name in placed.furniture_names:
        if name == _FLOOR:
            yield from (floor_name(room) for room in regions)
        elif name in house.furniture_by_name:
            if not regions or house.furniture_by_name[name].room in regions:
                yield name
        else:
            raise RejectedError("names what the house lacks")


def _states(placed: Placed, cls: str) -> dict[str, bool]:
    """The states of a record in our names; PARTNR writes `is_dirty: true`."""
    found: dict[str, bool] = {}
    table = default_states()
    for word, holds in placed.object_states.items():
        meant = table.predicates.get(word)
        if meant is None:
            raise RejectedError("names what the house lacks")
        state, value = meant
        if table.affordance_of[state] not in default_catalogue().objects[cls].affordances:
            raise RejectedError("names what the house lacks")
        found[state] = value == holds
    return found


def _named(instruction: str) -> set[str]:
    """Every class of things that a word of the instruction may mean."""
    words = [token.word for token in tokens_of(instruction)]
    matches = (default_lexicon().at(words, at) for at in range(len(words)))
    senses = {sense.word for match in matches if match is not None for sense in match.senses}
    meanings = default_word_meanings().phrases
    return {cls for word in senses if word in meanings for cls in meanings[word].objects}
