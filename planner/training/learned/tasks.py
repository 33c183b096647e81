"""What the reader learns from: instructions, the house's entities, and the goal of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import JsonValue

from planner.episodes.episode_file import Pack, read_pack
from planner.planning.learned.network import MARKS, NUMBERS, Array, Matches, Named, match
from planner.planning.learned.tokens import Token, names_any, read_tokens
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.house_checks import load_house

_GOES = {"is_on_top": 0, "is_inside": 1, "is_in_room": 2}
_STATES = {
    "is_clean": "clean",
    "is_filled": "filled",
    "is_powered_on": "powered_on",
    "is_powered_off": "powered_off",
}


@dataclass(slots=True)
class Labels:
    """The goal of a task over its O things, then F pieces of furniture; E = O + F.

    Attributes:
        goes: (3, O, F).
        then: (3, O, F): where it goes in the second place.
        next: (O, E).
        marks: (E, MARKS).
        numbers: (O, NUMBERS): 1 for each right answer; rows of zeros where none is asked.
        same, before: (E, E); NaN where it is not asked.
    """

    goes: Array
    then: Array
    next: Array
    marks: Array
    numbers: Array
    same: Array
    before: Array


@dataclass(frozen=True, slots=True)
class ReaderTask:
    """One instruction with its entities and its goal."""

    tokens: tuple[Token, ...]
    found: Matches
    labels: Labels


def tasks_of(packs: Sequence[Path], without: Collection[str] = ()) -> Iterator[ReaderTask]:
    """The tasks of packs of episodes, but those whose words may mean a class of `without`.

    Raises:
        FileError: for a file that is not a pack.
    """
    for path in packs:
        pack = read_pack(path)
        for episode, house in episodes_of(pack):
            task = task_of(episode, house)
            if task is not None and not names_any(task.tokens, without):
                yield task


def episodes_of(pack: Pack) -> Iterator[tuple[Episode, House]]:
    """The episodes of a pack with their houses."""
    houses = {house.name: house for house in pack.houses}
    for episode in pack.episodes:
        if episode.house not in houses:
            houses[episode.house] = load_house(episode.house)
        yield episode, houses[episode.house]


def task_of(episode: Episode, house: House) -> ReaderTask | None:
    """The task of an episode; None if its goal is not one of these kinds."""
    goal = episode.evaluation
    if goal is None:
        return None
    furniture = [Named(piece.class_name, _class(piece.room)) for piece in house.furniture]
    places = {piece.name: i for i, piece in enumerate(house.furniture)}
    things = []
    for thing in episode.objects:
        support = places.get(thing.parent, -1)
        room = furniture[support].room if support >= 0 else ""
        if thing.parent.startswith("floor_"):
            room = _class(thing.parent.removeprefix("floor_"))
        things.append(Named(thing.class_name, room, support))
    names = {thing.name: i for i, thing in enumerate(episode.objects)}
    names |= {name: len(things) + i for name, i in places.items()}
    rooms = {
        room.name: [places[p.name] for p in house.furniture if p.room == room.name]
        for room in house.rooms
    }
    classes = [thing.class_name for thing in things]
    labels = _labels(goal, names, rooms, classes, len(furniture))
    if labels is None:
        return None
    tokens = read_tokens(episode.instruction)
    return ReaderTask(tokens, *_shortened(match(tokens, furniture, things), labels))


def _shortened(found: Matches, labels: Labels) -> tuple[Matches, Labels]:
    """Leaves out entities that no word means, and furniture of which all is like another's."""
    count = len(found.things)
    things = np.flatnonzero(found.things.any(1))
    pieces: dict[bytes, int] = {}
    place = np.zeros(len(found.furniture) + 1, np.int64)
    kept: list[int] = []
    for i in range(len(found.furniture)):
        about = (
            found.furniture[i],
            found.in_room[i],
            labels.goes[..., i],
            labels.then[..., i],
            labels.next[:, count + i],
            labels.marks[count + i],
            labels.same[count + i],
            labels.before[count + i],
            labels.before[:, count + i],
        )
        key = b"".join(part.tobytes() for part in about)
        if key not in pieces:
            pieces[key] = len(kept)
            kept.append(i)
        place[i] = pieces[key]
    both = [*things, *(count + i for i in kept)]
    supports = np.where(found.supports >= 0, place[found.supports], -1)
    shorter = Matches(
        found.furniture[kept],
        found.in_room[kept],
        found.things[things],
        found.thing_in_room[things],
        supports[things],
    )
    square = np.ix_(both, both)
    return shorter, Labels(
        labels.goes[:, things][..., kept],
        labels.then[:, things][..., kept],
        labels.next[things][:, both],
        labels.marks[both],
        labels.numbers[things],
        labels.same[square],
        labels.before[square],
    )


def _labels(
    goal: Mapping[str, JsonValue],
    names: Mapping[str, int],
    rooms: Mapping[str, Sequence[int]],
    classes: Sequence[str],
    furniture: int,
) -> Labels | None:
    things = len(classes)
    total = things + furniture
    labels = Labels(
        np.zeros((3, things, furniture), np.float32),
        np.zeros((3, things, furniture), np.float32),
        np.zeros((things, total), np.float32),
        np.zeros((total, len(MARKS)), np.float32),
        np.zeros((things, len(NUMBERS)), np.float32),
        np.full((total, total), np.nan, np.float32),
        np.full((total, total), np.nan, np.float32),
    )
    propositions = _list(goal.get("propositions"))
    again = _moved_before(goal, propositions, names)
    firsts: list[list[int]] = []
    for proposition in propositions:
        name, args = str(proposition["function_name"]), proposition["args"]
        if not isinstance(args, dict):
            return None
        number = args.get("number", 1)
        first = _indices(args.get("objects", args.get("entities_a")), names)
        firsts.append(first)
        if name in _GOES:
            second = _indices(args.get("receptacles"), names) if name != "is_in_room" else []
            for room in args.get("rooms", []) if name == "is_in_room" else []:  # type: ignore[union-attr]
                second += [things + i for i in rooms.get(str(room), ())]
            if any(i >= things for i in first) or any(i < things for i in second):
                return None
            for i in first:
                part = labels.then if i in again[len(firsts) - 1] else labels.goes
                part[_GOES[name], i, [j - things for j in second]] = 1
        elif name == "is_next_to":
            for i in first:
                if i >= things:
                    return None
                labels.next[i, _indices(args.get("entities_b"), names)] = 1
        elif name in _STATES:
            labels.marks[first, MARKS.index(_STATES[name])] = 1
        else:
            return None
        for i in first:
            if i < things:
                labels.numbers[i, min(int(str(number)), 4) - 1] = 1
                labels.numbers[i, -1] = float(number == len(first))
    _grouped(firsts, labels, classes)
    _add_constraints(goal, firsts, labels)
    return labels


def _moved_before(
    goal: Mapping[str, JsonValue],
    propositions: Sequence[Mapping[str, JsonValue]],
    names: Mapping[str, int],
) -> list[set[int]]:
    """By proposition: the things that another move brings somewhere before it."""
    moved: list[set[int]] = []
    for proposition in propositions:
        args = proposition["args"]
        is_move = str(proposition["function_name"]) in _GOES and isinstance(args, dict)
        moved.append(set(_indices(args.get("objects"), names)) if is_move else set())  # type: ignore[union-attr]
    found: list[set[int]] = [set() for _ in propositions]
    for constraint in _list(goal.get("constraints")):
        edges = constraint.get("edges") if constraint["type"] == "TemporalConstraint" else ()
        for edge in edges if isinstance(edges, list) else ():
            if isinstance(edge, list):
                one, other = (int(str(i)) for i in edge)
                found[other] |= moved[one]
    return found


def _grouped(firsts: Sequence[Sequence[int]], labels: Labels, classes: Sequence[str]) -> None:
    """Several propositions of one thing each are "both cups": counts things with equal goals."""
    things = len(classes)
    for i in range(things):
        alone = [f for f in firsts if i in f]
        if not alone or any(len(f) != 1 for f in alone):
            continue
        alike = [
            j
            for j in range(things)
            if classes[i] == classes[j]
            and any(list(f) == [j] for f in firsts)
            and (labels.goes[:, i] == labels.goes[:, j]).all()
            and (labels.then[:, i] == labels.then[:, j]).all()
            and (labels.marks[i] == labels.marks[j]).all()
        ]
        labels.numbers[i] = 0
        labels.numbers[i, [min(len(alike), 4) - 1, -1]] = 1


def _add_constraints(
    goal: Mapping[str, JsonValue], firsts: Sequence[Sequence[int]], labels: Labels
) -> None:
    used = sorted({i for first in firsts for i in first})
    labels.same[np.ix_(used, used)] = 0
    labels.before[np.ix_(used, used)] = 0
    for constraint in _list(goal.get("constraints")):
        indices = constraint.get("proposition_indices")
        group = [int(str(i)) for i in indices] if isinstance(indices, list) else []
        members = sorted({i for p in group for i in firsts[p]})
        if constraint["type"] == "SameArgConstraint":
            labels.same[np.ix_(members, members)] = 1
        elif constraint["type"] == "DifferentArgConstraint":
            labels.marks[members, MARKS.index("apart")] = 1
        elif constraint["type"] == "TemporalConstraint":
            edges = constraint.get("edges")
            for edge in edges if isinstance(edges, list) else []:
                if isinstance(edge, list):
                    one, other = (int(str(i)) for i in edge)
                    labels.before[np.ix_(firsts[one], firsts[other])] = 1
    for dependency in _list(goal.get("dependencies")):
        if dependency.get("relation_type") == "while_satisfied":
            continue
        heads, gated = dependency.get("depends_on"), dependency.get("proposition_indices")
        if isinstance(heads, list) and isinstance(gated, list):
            for head in heads:
                for later in gated:
                    heads_first = np.ix_(firsts[int(str(head))], firsts[int(str(later))])
                    labels.before[heads_first] = 1
    # What comes before something comes before all that follows it.
    before = np.nan_to_num(labels.before) > 0
    while (more := before | (before @ before)).sum() > before.sum():
        before = more
    labels.before[before] = 1


def _list(value: object) -> list[dict[str, JsonValue]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _indices(value: object, names: Mapping[str, int]) -> list[int]:
    return [names[str(v)] for v in value if str(v) in names] if isinstance(value, list) else []


def _class(name: str) -> str:
    return name.rpartition("_")[0]
