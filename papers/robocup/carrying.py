"""Commands carried out in simulation by planner `words`, judged by the true world.

What a command speaks of is placed in the house first, beside the things of the house file. A move
is judged by the evaluator; what is told, by counting what lies there without the planner's means.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from pydantic import JsonValue

from papers.robocup.commands import Command
from planner.api import run
from planner.app.run_options import STEP_S
from planner.evaluation.task import PersonPredicate
from planner.houses.clutter import ObjectRequest, place_objects
from planner.language.equivalence import same_meaning
from planner.language.goal_form import (
    Anchor,
    Description,
    Follow,
    Goal,
    Guide,
    Meet,
    Move,
    Place,
    Request,
    Tell,
)
from planner.language.interpretation import interpret
from planner.language.lexicon import PERSON, Pick, Spot, Topic
from planner.world.agents import default_bodies
from planner.world.catalogue import default_word_meanings
from planner.world.episode import AgentPlacement
from planner.world.house import House, ObjectPlacement
from planner.world.person import Gesture, PersonPlacement, Posture, person_name
from planner.world.topics import InstructionCode
from planner.world.vocabulary import AgentKind, Relation
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.embedded.people import floor_cell
from sim_bridge.opening import Opened, bare_episode

# Three commands of an EGPSR have so long together.
SET_SIZE, SET_S = 3, 600.0
# Of what is counted or compared, up to so many lie there.
_MOST = 4
_NAMES = ("Ada", "Bela", "Cleo", "Dora")
_GENERAL = (
    ("Which city is the capital of Japan?", "Tokyo"),
    ("What is the tallest mountain in the world?", "Everest"),
    ("Can you tell me who painted the Mona Lisa?", "Leonardo"),
    ("Which planet is nearest to the sun?", "Mercury"), ("How many legs has a spider?", "eight"),
    ("What is your name?", "robot"), ("How many rooms are there?", "rooms"),
)  # fmt: skip
_TOLD_NAME = re.compile(r"\b([a-z][a-z_-]*_\d+) at ")
_MEASURES: Mapping[Pick, Callable[[ObjectPlacement], float]] = {
    Pick.BIGGEST: lambda thing: -math.prod(thing.size_m),
    Pick.SMALLEST: lambda thing: math.prod(thing.size_m),
    Pick.THINNEST: lambda thing: min(thing.size_m),
}


class End(StrEnum):
    """How a command ended: DONE as it was meant; REFUSED before anything; else FAILED.

    UNPLACED: the house has no room for what the command speaks of.
    """

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    UNPLACED = "unplaced"


@dataclass(frozen=True, slots=True)
class Carried:
    """A command that was carried out; `said` is the planner's end, `took_s` simulated seconds."""

    end: End
    said: str
    took_s: float


def carry_out(command: Command, house: House, seed: int) -> Carried:
    """Places what a command speaks of, and has planner `words` carry it out."""
    rng = np.random.default_rng(seed)
    placed = _placed(command.goal, house, rng)
    people = _people(command.goal, house, rng.permutation(_questions(house)).tolist())
    if placed is None or people is None:
        return Carried(End.UNPLACED, "", 0.0)
    objects = (*house.objects, *placed)
    wanted = _evaluation(command.goal, people, objects, house)
    scene: dict[str, object] = {
        "episode_id": f"gpsr_{seed}",
        "objects": objects,
        "seed": seed,
        "people": tuple(PersonPlacement.model_validate(who.record) for who in people),
        "instruction": command.text,
        "evaluation": {"propositions": wanted, "constraints": []} if wanted else None,
    }
    if any(map(_comes_to_speaker, command.goal.requests)):
        start = _start(house)
        room = house.room_at(*start[:2]) or ""
        speaker = PersonPlacement(name="Olga", clothes=("white dress",), room=room)
        scene["people"] = (*(PersonPlacement.model_validate(w.record) for w in people), speaker)
        scene["agents"] = (AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT, start=start),)
    episode = bare_episode(house, 1).model_copy(update=scene)
    opened = Opened(house, episode, seed)
    found = run(opened, instruction="" if wanted else command.text, planner="words")
    outcome, took_s = found.result.outcome, found.result.sim_steps * STEP_S
    right = same_meaning(interpret(command.text), command.goal)
    judged = any(isinstance(request, Move) for request in command.goal.requests) or wanted
    done = (
        right
        and outcome.code is InstructionCode.DONE
        and (not judged or found.verdict.success)
        and all(
            is_told(request, outcome.text, objects, house, people)
            for request in command.goal.requests
            if isinstance(request, Tell) and request.to is Spot.ME
        )
    )
    failed = End.FAILED if found.result.events else End.REFUSED
    return Carried(End.DONE if done else failed, outcome.text, took_s)


def done_in_time(together: Sequence[Carried]) -> int:
    """How many commands of a set were done before its time was over, one after the other."""
    done, now_s = 0, 0.0
    for one in together:
        now_s += one.took_s
        done += one.end is End.DONE and now_s <= SET_S
    return done


# Who has to be there, and what was done with them.


@dataclass(frozen=True, slots=True)
class Somebody:
    """A person of the scene: as described in the command, and as a record of an episode.

    `hears`: what the answer to the person's question has to contain.
    """

    described: Description
    record: Mapping[str, object]
    hears: str


def _questions(house: House) -> list[tuple[str, str]]:
    """What people may ask in a house, as a list that is known before, and what the answers have."""
    pieces = Counter(piece.class_name for piece in house.furniture)
    room_of = {room.name: room.class_name.replace("_", " ") for room in house.rooms}
    there = [
        (f"Where is the {piece.class_name.replace('_', ' ')}?", room_of[piece.room])
        for piece in house.furniture
        if pieces[piece.class_name] == 1
    ]
    return [*_GENERAL, *there[: len(_GENERAL)]]


def _start(house: House) -> tuple[float, float, float]:
    """Where the robot hears a command: in the first room in which it can stand."""
    grid = HouseGround(house).grid(default_bodies()[AgentKind.ROBOT].radius_m)
    cells = (floor_cell(grid, house, room.name) for room in house.rooms)
    x_m, y_m = grid.point(next(cell for cell in cells if cell is not None))
    return (x_m, y_m, 0.0)


def _comes_to_speaker(request: Request) -> bool:
    return isinstance(request, Move) and request.to[0].anchor is Spot.ME


def _people(
    goal: Goal, house: House, questions: Sequence[tuple[str, str]]
) -> list[Somebody] | None:
    """A person for each description; None if the house has no such place, or one is at two."""
    found: dict[Description, Somebody] = {}
    for phrase in goal.phrases():
        if not isinstance(phrase, Description) or phrase.kind != PERSON or phrase in found:
            continue
        number = len(found)
        name = phrase.name or _NAMES[number]
        if any(who.record["name"] == name for who in found.values()):
            return None
        place = _place(phrase.where, house) if phrase.where else house.rooms[0].name
        if place is None:
            return None
        piece = house.furniture_by_name.get(place)
        states = [state.replace(" ", "_") for state in phrase.states]
        question, hears = questions[number]
        found[phrase] = Somebody(
            phrase,
            {
                "name": name,
                "clothes": phrase.wears or ("green shirt",),
                "posture": next((s for s in states if s in set(Posture)), Posture.STANDING),
                "gesture": next((s for s in states if s in set(Gesture)), None),
                "room": place if piece is None else piece.room,
                "at": None if piece is None else place,
                "answers": {"name": name, "question": question},
            },
            hears,
        )
    return list(found.values())


def _place(places: Sequence[Place], house: House) -> str | None:
    """The room or furniture that a command names."""
    anchor = places[0].anchor if places else None
    if not isinstance(anchor, Description):
        return None
    meaning = default_word_meanings().find(anchor.kind)
    if meaning is None:
        return None
    rooms = [room.name for room in house.rooms if room.class_name in meaning.rooms]
    pieces = [item.name for item in house.furniture if item.class_name in meaning.furniture]
    return next(iter(rooms + pieces), None)


def _evaluation(
    goal: Goal, people: Sequence[Somebody], objects: Sequence[ObjectPlacement], house: House
) -> list[JsonValue]:
    """What was done with people, as propositions of an episode."""
    handle: dict[Anchor, str] = {
        who.described: person_name(number) for number, who in enumerate(people)
    }
    handle[Spot.ME] = person_name(len(people))
    found: list[JsonValue] = []

    def note(predicate: PersonPredicate, **arguments: list[str]) -> None:
        args: dict[str, JsonValue] = {key: list(names) for key, names in arguments.items()}
        found.append({"function_name": predicate.value, "args": args})

    for request in goal.requests:
        phrase = next(iter(getattr(request, "things", ())), None)
        whom = handle.get(phrase, "") if isinstance(phrase, Description) else ""
        if isinstance(request, Meet):
            note(PersonPredicate.IS_MET, persons=[whom])
        elif isinstance(request, Follow):
            place = _place(request.to, house)
            places = {"places": [place]} if place is not None else {}
            note(PersonPredicate.IS_FOLLOWED, persons=[whom], **places)
        elif isinstance(request, Guide):
            place = _place(request.to, house) or ""
            note(PersonPredicate.IS_GUIDED, persons=[whom], places=[place])
        elif isinstance(request, Tell) and isinstance(request.to, Description):
            said = str(request.topic)
            if request.topic is Topic.ANSWER:
                asks = next(who for who in people if who.described == request.to)
                said = f"answer: ...{asks.hears}..."
            if request.topic is Topic.NAME and isinstance(phrase, Description):
                about = next(who for who in people if who.described == phrase)
                said = f"name: {about.record['name']}"
            note(PersonPredicate.IS_TOLD, persons=[handle[request.to]], texts=[said])
        elif isinstance(request, Move) and request.to[0].anchor in handle:
            person = handle[request.to[0].anchor]
            things = _fitting(phrase, objects, house) if isinstance(phrase, Description) else ()
            names = [item.name for item in things]
            note(PersonPredicate.IS_HANDED_OVER, objects=names, persons=[person])
    return found


# What has to be there.


def _placed(
    goal: Goal, house: House, rng: np.random.Generator
) -> tuple[ObjectPlacement, ...] | None:
    """The things of which a goal speaks; None if there is no room for one of them."""
    requests = [request for wanted in _things(goal) for request in _requests(wanted, house, rng)]
    if not all(request.furniture for request in requests):
        return None
    placed = place_objects(house, requests, rng, house.objects)
    found = tuple(item for item in placed if isinstance(item, ObjectPlacement))
    return found if len(found) == len(placed) else None


def _things(goal: Goal) -> Iterator[tuple[Description, int, int]]:
    """Each description of things with the least and the most of them that shall be there."""
    for request in goal.requests:
        for phrase in getattr(request, "things", ()):
            if not isinstance(phrase, Description) or phrase.kind == PERSON:
                continue
            if isinstance(request, Tell):
                least = 0 if request.topic is Topic.COUNT else 2
                yield phrase, least, _MOST
            else:
                yield phrase, 1, 1


def _requests(
    wanted: tuple[Description, int, int], house: House, rng: np.random.Generator
) -> Iterator[ObjectRequest]:
    phrase, least, most = wanted
    meaning = default_word_meanings().find(phrase.kind)
    classes = sorted(
        {item.class_name for item in house.objects} if meaning is None else meaning.objects
    )
    where = phrase.where[0].anchor if phrase.where else None
    pieces = tuple(piece.name for piece in house.furniture if _is_at(piece.name, where, house))
    for _ in range(int(rng.integers(least, most + 1))):
        yield ObjectRequest((classes[int(rng.integers(len(classes)))],), Relation.ON, pieces)


def _is_at(piece: str, anchor: Anchor | None, house: House) -> bool:
    """Whether things on a piece of furniture are at an anchor of a command."""
    if not isinstance(anchor, Description):
        return True
    meaning = default_word_meanings().find(anchor.kind)
    found = next(item for item in house.furniture if item.name == piece)
    room = next(item.class_name for item in house.rooms if item.name == found.room)
    return meaning is not None and (found.class_name in meaning.furniture or room in meaning.rooms)


# Whether the right thing was told.


def is_told(
    request: Tell,
    said: str,
    objects: Sequence[ObjectPlacement],
    house: House,
    people: Sequence[Somebody] = (),
) -> bool:
    """Whether a text tells what a request asks of things that lie in a house, or of people."""
    if not request.things:
        # Of itself and its clock a robot says what it likes.
        return bool(said)
    (phrase,) = request.things
    if not isinstance(phrase, Description):
        return False
    if phrase.kind == PERSON:
        about = [who.record for who in people if who.described == phrase]
        told = said.rpartition(". ")[2]
        if request.topic is Topic.COUNT:
            return told == str(len(about))
        value = about[0].get(str(request.topic)) if about else ""
        return told == ("none" if value is None else str(value).replace("_", " "))
    fitting = _fitting(phrase, objects, house)
    if request.topic is Topic.COUNT:
        return re.search(rf": {len(fitting)}\b", said) is not None
    measure = _MEASURES.get(phrase.pick) if phrase.pick else None
    if measure is None:
        return False
    named = _TOLD_NAME.findall(said)
    least = min(map(measure, fitting), default=math.nan)
    return len(named) == 1 and any(
        item.name == named[0] and math.isclose(measure(item), least) for item in fitting
    )


def _fitting(
    phrase: Description, objects: Sequence[ObjectPlacement], house: House
) -> list[ObjectPlacement]:
    """The things of a kind that lie at a place."""
    meaning = default_word_meanings().find(phrase.kind)
    anchor = phrase.where[0].anchor if phrase.where else None
    return [
        item
        for item in objects
        if (meaning is None or item.class_name in meaning.objects)
        and not item.parent.startswith("floor_")
        and _is_at(_piece_of(item, objects), anchor, house)
    ]


def _piece_of(item: ObjectPlacement, objects: Sequence[ObjectPlacement]) -> str:
    """The furniture that a thing is on or in, maybe with things between."""
    by_name = {other.name: other for other in objects}
    while (parent := by_name.get(item.parent)) is not None:
        item = parent
    return item.parent
