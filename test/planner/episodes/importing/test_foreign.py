"""Things in and on things in episode files: made, checked, written and read alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from random_cases import random_cases

from planner.episodes.episode_file import write_episode
from planner.episodes.importing.foreign import ForeignThing, place_things
from planner.episodes.importing.importer import UnplaceableError
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode, read_episode
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import check_episode
from planner.world.receptacle import containment_cycle
from planner.world.vocabulary import Relation

CLASSES = ("storage_box", "mixing_bowl", "pan", "plate", "egg", "apple")
TABLES = ("table_0", "table_1")

parents = st.tuples(*(st.integers(-2, 5) for _ in CLASSES))
trees = st.tuples(*(st.integers(-2, i - 1) for i, _ in enumerate(CLASSES)))


def circles(of: tuple[int, ...]) -> set[int]:
    """The things that are in or on themselves, if each is in or on the one of its number."""
    found = set()
    for start in range(len(of)):
        at = of[start]
        for _ in of:
            if at == start:
                found.add(start)
            at = of[at] if at >= 0 else at
    return found


@random_cases(100, 3000, parents)
def test_a_circle_is_found_wherever_one_is(of: tuple[int, ...]) -> None:
    things = [_placed(i, parent) for i, parent in enumerate(of)]
    found = containment_cycle(things)
    assert (found is not None) is bool(circles(of))
    assert found is None or int(found[0].rpartition("_")[2]) in circles(of)


def _placed(number: int, parent: int) -> ObjectPlacement:
    return ObjectPlacement(
        name=f"{CLASSES[number]}_{number}",
        class_name=CLASSES[number],
        size_m=(0.1, 0.1, 0.1),
        pose=(0, 0, 0, 0),
        parent=TABLES[parent] if parent < 0 else f"{CLASSES[parent]}_{parent}",
        relation=Relation.ON,
        part="top",
    )


@random_cases(8, 150, trees | parents, st.integers(0, 99))
def test_a_scene_of_nested_things_is_a_sound_episode(
    small_house: House,
    small_episode: Episode,
    tmp_path_factory: pytest.TempPathFactory,
    of: tuple[int, ...],
    seed: int,
) -> None:
    things = [
        ForeignThing(str(i), name, TABLES[of[i]] if of[i] < 0 else str(of[i]))
        for i, name in enumerate(CLASSES)
    ]
    try:
        placed, notes = place_things(
            small_house, things, np.random.default_rng(seed), default_catalogue()
        )
    except UnplaceableError as error:
        refused = str(error)
    else:
        refused = ""
    assert bool(refused) is bool(circles(of)) or "no free place" in refused
    if refused:
        return
    assert set(placed) == {thing.name for thing in things}
    beside = {note.split(" ")[0] for note in notes}
    for thing in things:
        wanted = placed[thing.parent].name if thing.parent in placed else thing.parent
        assert (placed[thing.name].parent == wanted) is (thing.name not in beside)
    episode = small_episode.model_copy(update={"objects": tuple(placed.values())})
    assert list(check_episode(episode, small_house, default_catalogue())) == []
    assert read_episode(write_episode(episode, tmp_path_factory.mktemp("nested"))) == episode
