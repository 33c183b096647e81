"""The true plan of an idea, its goal, and the paper's record."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from papers.et_plan_bench.generation.house_facts import HouseFacts
from papers.et_plan_bench.generation.idea import Idea, Link
from papers.et_plan_bench.published.judged import evaluation_of_triples
from planner.parts.calls import parse_call
from planner.world.episode import Episode, Prior
from planner.world.files import replacing
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import Relation

# Where a thing may be put down for a moment.
_LEDGES = frozenset({"table", "counter", "desk", "cabinet", "tv_stand", "bench", "nightstand"})
_AROUND = {"ON": "on", "INSIDE": "within"}

Plan = tuple[str, ...]


def plans(
    facts: HouseFacts, idea: Idea, room: str, arms: int = 1, prior: Prior = "P"
) -> tuple[Plan, ...]:
    """The plans of which the one with the shortest walk is the ground truth.

    There is one, but for two things that may be carried at a time: one by one, both at once, with
    one put down to open the place, and with the place opened before both hands are full
    (ETPLAN-2.3, ETPLAN-C31).

    Args:
        facts: of the house.
        idea: what to do.
        room: where the robot is at the start.
        arms: how many things it may carry at a time.
        prior: what it knows.
    """
    if idea.place is None:
        way = _Way(facts, room, prior)
        way.go(idea.target)
        return (way.calls,)
    if idea.nest is not None:
        way = _Way(facts, room, prior)
        way.bring(idea.target, idea.nest)
        way.bring(idea.nest.name, idea.place)
        return (way.calls,)
    things = [name for name in (idea.target, idea.second) if name]
    if arms == 1 or not idea.second:
        # In the order of the words, as in the paper's list of eight parts (ETPLAN-C32).
        return (_one_by_one(facts, things, idea.place, room, prior),)
    found = list[Plan]()
    for order in (things, things[::-1]):
        found.append(_one_by_one(facts, order, idea.place, room, prior))
        found += _both(facts, order, idea.place, room, prior)
    return tuple(dict.fromkeys(found))


def _one_by_one(facts: HouseFacts, things: list[str], place: Link, room: str, prior: Prior) -> Plan:
    way = _Way(facts, room, prior)
    for name in things:
        way.bring(name, place)
    return way.calls


def _both(
    facts: HouseFacts, things: list[str], place: Link, room: str, prior: Prior
) -> Iterator[Plan]:
    """Fetching both things in an order, then placing both (ETPLAN-C30, ETPLAN-C32).

    Which is placed first changes no walk, but may leave more room for the other one.
    """
    first, second = things
    if not _Way(facts, room, prior).must_open(place):
        for placed in (things, things[::-1]):
            direct = _Way(facts, room, prior)
            direct.fetch(*things)
            direct.place(placed, place)
            yield direct.calls
        return
    # Before anything is fetched, or with one thing in a hand.
    for before in (0, 1):
        opened = _Way(facts, room, prior)
        opened.fetch(*things[:before])
        opened.go(place.name)
        opened.open(place)
        opened.fetch(*things[before:])
        opened.place(things, place)
        yield opened.calls
    ledge = _ledge(facts, place.name)
    if ledge is not None:
        for aside, held in ((second, first), (first, second)):
            putting = _Way(facts, room, prior)
            putting.fetch(first, second)
            putting.place([aside], ledge)
            putting.place([held], place)
            putting.fetch(aside)
            putting.place([aside], place)
            yield putting.calls


def _ledge(facts: HouseFacts, place: str) -> Link | None:
    """The surface nearest to a place in its room: its own top, if it has one."""
    room = facts.room_of(place)
    ledges = [
        piece
        for piece in facts.furniture
        if piece.room == room
        and piece.piece is not None
        and piece.piece.surfaces
        and (piece.known in _LEDGES or piece.name == place)
    ]
    if not ledges:
        return None
    nearest = min(ledges, key=lambda piece: (facts.gap_m(piece.name, place), piece.name))
    return Link("ON", place if place in {piece.name for piece in ledges} else nearest.name)


class _Way:
    """A plan that grows; knows what was opened, where the robot is, and where things went."""

    def __init__(self, facts: HouseFacts, room: str, prior: Prior) -> None:
        self._facts, self._room, self._prior = facts, room, prior
        self._calls: list[SkillCall] = []
        self._opened: set[str] = set()
        self._at = ""
        # The furniture that things were put on or into.
        self._base: dict[str, str] = {}

    @property
    def calls(self) -> Plan:
        """The plan so far."""
        return tuple(str(call) for call in self._calls)

    def go(self, name: str) -> None:
        """Walks to something, opening what is around it."""
        base = self._base.get(name)
        around = () if base else self._facts.closed_around(name)
        for holder in around:
            if holder not in self._opened:
                self._walk(holder)
                self._do(SkillName.OPEN, holder)
                self._opened.add(holder)
        self._walk(name)

    def must_open(self, place: Link) -> bool:
        """Whether a place is closed to what goes there."""
        entity = self._facts.entities[place.name]
        return place.relation == "INSIDE" and entity.opens and place.name not in self._opened

    def open(self, place: Link) -> None:
        """Opens a place where the robot is, if that is needed."""
        if self.must_open(place):
            self._do(SkillName.OPEN, place.name)
            self._opened.add(place.name)

    def fetch(self, *things: str) -> None:
        """Takes things into the hands."""
        for name in things:
            self.go(name)
            self._do(SkillName.PICK, name)
            self._base.pop(name, None)

    def place(self, things: list[str], place: Link) -> None:
        """Puts what is held somewhere."""
        self.go(place.name)
        self.open(place)
        for name in things:
            self._do(SkillName.PLACE, name, _AROUND[place.relation], place.name, None, None)
            self._base[name] = self._base.get(place.name, place.name)

    def bring(self, thing: str, place: Link) -> None:
        """Takes one thing somewhere."""
        self.fetch(thing)
        self.place([thing], place)

    def _walk(self, name: str) -> None:
        if name == self._at:
            return
        room = self._facts.room_of(self._base.get(name, name))
        entity = self._facts.entities[name]
        mapped = self._prior == "FP" and not entity.is_thing
        if room != self._room and not mapped:
            self._do(SkillName.NAVIGATE, room)
        self._do(SkillName.NAVIGATE, name)
        self._room, self._at = room, name

    def _do(self, skill: SkillName, *arguments: str | None) -> None:
        self._calls.append(SkillCall(skill, arguments))


def verbs_of(calls: Plan) -> Iterator[tuple[str, ...]]:
    """The plan in the paper's verbs: `("PUTIN", "apple_0", "fridge_0")` (ETPLAN-3.1)."""
    for text in calls:
        call = parse_call(text)
        names = [name or "" for name in call.arguments]
        if call.name == SkillName.PLACE:
            yield ("PUTIN" if names[1] == "within" else "PUT", names[0], names[2])
        else:
            yield (_VERBS[call.name], names[0])


_VERBS: dict[str, str] = {
    SkillName.NAVIGATE: "WALK",
    SkillName.PICK: "GRAB",
    SkillName.OPEN: "OPEN",
}


# A task's goal in PARTNR's language, for planners that are given goals instead of words.


def goal_of(
    idea: Idea, facts: HouseFacts, variables: Mapping[str, tuple[str, ...]]
) -> dict[str, JsonValue] | None:
    """The evaluation; None if the task is only to find something, which that language cannot say.

    What holds from the start, as that A is near B or C in D, becomes a choice of entities.
    """
    chosen = dict(variables)
    source = idea.source
    if source is not None:
        chosen["A"] = tuple(
            name
            for name in variables["A"]
            if any(
                name != other and facts.holds(source.relation, name, other)
                for other in variables["B"]
            )
        )
    if idea.room:
        chosen["C"] = tuple(
            name for name in variables["C"] if facts.room_of(name) in variables["D"]
        )
    before = [triple for triple in idea.intermediate() if idea.nest and triple[1:] == ("A", "B")]
    goals = [triple for triple in idea.success() if triple[2] == "C" and triple[1] != "robot"]
    return evaluation_of_triples(before, goals, chosen, facts.house).evaluation


# The paper's record of a task: text, criteria, environment and true plan (ETPLAN-2.1).
#
# Things have the numbers of our names, so `apple_2` is the class `apple` with the id 2; ids are
# unique in a class. `planner episodes import et-plan-bench --graph` reads such files.

_WORDS = {Relation.ON: "ON", Relation.WITHIN: "INSIDE"}


def paper_record(episode: Episode, facts: HouseFacts, scene: int) -> dict[str, JsonValue]:
    """A task's record.

    Args:
        episode: with criteria and a reference plan.
        facts: of its house.
        scene: the number of its house.
    """
    criteria = episode.criteria
    if criteria is None:
        raise ValueError(f"{episode.episode_id} has no criteria")
    objects: dict[str, JsonValue] = {}
    for letter, names in criteria.variables.items():
        word, number = _split(names[0])
        objects[letter] = {"class": word, "id": number}
    start = episode.agents[0].start
    return {
        "id": episode.episode_id,
        "category": criteria.category,
        "variants": list(criteria.variants),
        "scene": scene,
        "split": episode.split,
        "task": episode.instruction,
        "objects": objects,
        "intermediate": [list(triple) for triple in criteria.intermediate],
        "success": [list(triple) for triple in criteria.success],
        "prior": criteria.prior,
        "arms": criteria.arms,
        "init": {"position": [*(start or ())[:2], 0.0], "yaw": (start or (0.0,))[-1]},
        "environment": {"house": episode.house, "relations": _relations(episode, facts)},
        "gt": [
            [verb, *(part for name in names for part in _split(name))]
            for verb, *names in criteria.reference_plan
        ],
    }


def _relations(episode: Episode, facts: HouseFacts) -> list[JsonValue]:
    """How what the task names, and what the plan uses, stands at the start."""
    criteria = episode.criteria
    plan = () if criteria is None else criteria.reference_plan
    names = {name for _, *used in plan for name in used}
    found: list[JsonValue] = []
    for name in sorted(names & facts.entities.keys()):
        entity = facts.entities[name]
        if entity.relation is not None and entity.parent in facts.entities:
            found.append([_WORDS[entity.relation], *_split(name), *_split(entity.parent)])
        found.append(["INSIDE", *_split(name), *_split(entity.room)])
    return found


def _split(name: str) -> tuple[str, int]:
    word, _, number = name.rpartition("_")
    return word, int(number)


def write_records(
    path: Path,
    episodes: Iterable[Episode],
    facts: Mapping[str, HouseFacts],
    scenes: Mapping[str, int],
) -> None:
    """Writes records as JSON lines.

    Raises:
        FileError: if the file cannot be written.
    """
    lines = (
        json.dumps(
            paper_record(episode, facts[episode.house], scenes[episode.house]), ensure_ascii=False
        )
        for episode in episodes
    )
    with replacing(path) as aside, aside.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{line}\n" for line in lines)
        stream.flush()
        os.fsync(stream.fileno())
