"""Commands carried out in simulation by planner `words`, judged by the true world.

What a command speaks of is placed in the house first, beside the things of the house file. A move
is judged by the evaluator; what is told, by counting what lies there without the planner's means.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from papers.robocup.commands import Command
from planner.api import run
from planner.app.run_options import STEP_S
from planner.houses.clutter import ObjectRequest, place_objects
from planner.language.equivalence import same_meaning
from planner.language.goal_form import Anchor, Description, Goal, Move, Tell
from planner.language.interpretation import interpret
from planner.language.lexicon import PERSON, Pick, Topic
from planner.world.catalogue import default_word_meanings
from planner.world.house import House, ObjectPlacement
from planner.world.vocabulary import Relation
from sim_bridge.opening import Opened, bare_episode

# Three commands of an EGPSR have so long together.
SET_SIZE, SET_S = 3, 600.0
# Of what is counted or compared, up to so many lie there.
_MOST = 4
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
    if placed is None:
        return Carried(End.UNPLACED, "", 0.0)
    objects = (*house.objects, *placed)
    scene = {"episode_id": f"gpsr_{seed}", "objects": objects, "seed": seed}
    episode = bare_episode(house, 2).model_copy(update=scene)
    opened = Opened(house, episode, seed)
    found = run(opened, instruction=command.text, planner="words")
    outcome, took_s = found.result.outcome, found.result.sim_steps * STEP_S
    right = same_meaning(interpret(command.text), command.goal)
    done = right and all(
        is_told(request, outcome.text, objects, house)
        if isinstance(request, Tell)
        else isinstance(request, Move) and found.verdict.success
        for request in command.goal.requests
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


def is_told(request: Tell, said: str, objects: Sequence[ObjectPlacement], house: House) -> bool:
    """Whether a text tells what a request asks of things that lie in a house."""
    (phrase,) = request.things or (None,)
    if not isinstance(phrase, Description) or phrase.kind == PERSON:
        return False
    meaning = default_word_meanings().find(phrase.kind)
    anchor = phrase.where[0].anchor if phrase.where else None
    fitting = [
        item
        for item in objects
        if (meaning is None or item.class_name in meaning.objects)
        and not item.parent.startswith("floor_")
        and _is_at(_piece_of(item, objects), anchor, house)
    ]
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


def _piece_of(item: ObjectPlacement, objects: Sequence[ObjectPlacement]) -> str:
    """The furniture that a thing is on or in, maybe with things between."""
    by_name = {other.name: other for other in objects}
    while (parent := by_name.get(item.parent)) is not None:
        item = parent
    return item.parent
