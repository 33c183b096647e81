"""What an agent's knowledge says about the instruction: what is wanted, done, blocked, missing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.planning.learned.grounding import Grounded, ground
from planner.planning.learned.matches import Array, Named, match
from planner.planning.learned.network import MARKS, Reading
from planner.planning.learned.situation import STATE_SKILLS, Situation
from planner.planning.learned.tokens import Token
from planner.world.catalogue import default_catalogue

APART = MARKS.index("apart")
STATES = tuple(STATE_SKILLS)
FILLED = STATES.index("filled")
# What was switched the one way is not switched back: of a noun that is misread as both, the state
# that it has would otherwise be undone and done again.
_OPPOSITE = {"powered_on": "powered_off", "powered_off": "powered_on"}
# What a class has to afford for each state.
_NEEDS = {
    "clean": "cleanable",
    "filled": "fillable",
    "powered_on": "powerable",
    "powered_off": "powerable",
}


@dataclass(frozen=True, slots=True)
class Progress:
    """Of O things and F pieces (E = O + F) and T tokens; all are likelihoods.

    Attributes:
        pieces, things: numbers of the entities in order.
        in_room: (F, T): the token may mean the room of the piece.
        grounded: what is said of them.
        goes: (3, O, F): where each is to go now; the second place once it was in the first.
        begun: (O,): it was in the first of two places, and is not in the second.
        ready: (O,): something that it is to be put next to is known and where it is to be.
        move: (O,): the thing has to be brought somewhere and is not there.
        away: (O,): it is not on or in what it has to be brought to.
        wanted: (O,): it has to be brought somewhere at all.
        state: (E, 4): it has to get the state and has not.
        need: (E,): as many are asked for as to need this one, too.
        blocked: (E,): something else comes before.
        first_state: (O,): its state comes before it is moved.
        remaining: (T,): the token asks for more than is done.
        missing: (T,): and not enough are known.
        share: (E, T): which token speaks of the entity.
        apart: (O,): each goes to a piece of its own.
        same: (O, O): both go to the same piece.
    """

    pieces: tuple[int, ...]
    things: tuple[int, ...]
    in_room: Array
    grounded: Grounded
    goes: Array
    begun: Array
    ready: Array
    move: Array
    away: Array
    wanted: Array
    state: Array
    need: Array
    blocked: Array
    first_state: Array
    remaining: Array
    missing: Array
    share: Array
    apart: Array
    same: Array


def progress_of(tokens: tuple[Token, ...], reading: Reading, situation: Situation) -> Progress:
    """Compares the instruction with what is known."""
    pieces, things = tuple(situation.pieces), tuple(situation.things)
    places = {number: i for i, number in enumerate(pieces)}
    named_pieces = [Named(situation.pieces[n].class_name, situation.room_class(n)) for n in pieces]
    named_things = []
    for n in things:
        first = situation.things[n].first
        named_things.append(
            Named(
                situation.things[n].class_name,
                situation.room_class(first),
                places.get(first, -1) if first is not None else -1,
            )
        )
    found = match(tokens, named_pieces, named_things)
    said = ground(reading, found)
    both = np.concatenate([said.things, said.furniture])
    share = both / np.maximum(both.sum(1, keepdims=True), np.float32(1e-3))
    count = len(things)

    # Things with two places go to the second one once they were put at the first.
    then = said.then.max((0, 2), initial=0)
    was = np.array(
        [
            max(
                (float(said.goes[:, i, places[p]].max()) for p in situation.put[n] if p in places),
                default=0.0,
            )
            for i, n in enumerate(things)
        ],
        np.float32,
    )
    turn = (was * then)[None, :, None]
    to = said.goes * (1 - turn) + said.then * turn
    there = np.zeros(count, np.float32)
    for i, n in enumerate(things):
        place = situation.place_of(n)
        if place is not None and not situation.things[n].picked:
            there[i] = to[:, i, places[place]].max()
    goes = to.max((0, 2), initial=0)
    beside = np.concatenate([said.next_things, said.next_furniture], 1).max(1, initial=0)
    is_beside = _is_beside(situation, things, said.next_things)
    wanted = np.maximum(goes, beside)
    away = np.maximum(goes - there, 0)
    move = np.maximum(away, beside * (1 - is_beside))
    begun = turn[0, :, 0] * away
    # The first of two places is not the end.
    move = np.maximum(move, then * (1 - was))
    lies = np.array([float(not situation.things[n].picked) for n in things], np.float32)
    ready = (said.next_things * ((1 - away) * lies)[None, :]).max(1, initial=0)
    ready = np.maximum(ready, said.next_furniture.max(1, initial=0))
    marks = share @ reading.marks
    has = np.array(
        [[_has(situation, n, mark) for mark in STATES] for n in (*things, *pieces)], np.float32
    ).reshape(len(both), len(STATES))
    able = np.array(
        [_can_have(name.class_name) for name in (*named_things, *named_pieces)], np.float32
    ).reshape(has.shape)
    marks[:, : len(STATES)] *= able
    state = marks[:, : len(STATES)] * (1 - has)

    open_ = np.concatenate([move, np.zeros(len(pieces), np.float32)])
    open_ = np.maximum(open_, state.max(1, initial=0))
    says = np.concatenate([wanted, np.zeros(len(pieces), np.float32)])
    says = np.maximum(says, marks[:, : len(STATES)].max(1, initial=0))
    done = np.maximum(says - open_, 0)
    asks = np.maximum(
        np.maximum(
            reading.goes.max((0, 2)), np.maximum(reading.then.max((0, 2)), reading.next.max(1))
        ),
        reading.marks[:, : len(STATES)].max(1),
    )
    nouns = np.array([float(bool(t.objects) or t.open) for t in tokens], np.float32)
    is_piece = np.array([float(bool(t.furniture) and not t.objects) for t in tokens], np.float32)
    # Of furniture only states are asked for.
    asks = nouns * asks + is_piece * reading.marks[:, : len(STATES)].max(1)
    known = (both > 0.5).sum(0).astype(np.float32)
    # "All three cups" are three, however few are known so far.
    said_ = [max(t.count, 2) if t.plural else 1 for t in tokens]
    all_ = np.maximum(known, np.array(said_, np.float32))
    numbers = reading.numbers[:, :4] @ np.arange(1, 5, dtype=np.float32)
    numbers = numbers + reading.numbers[:, 4] * all_
    satisfied = (share * done[:, None]).sum(0)
    left = numbers - satisfied
    remaining = asks * np.clip(left, 0, 1)
    free = np.concatenate(
        [[float(not _by_other(situation, n)) for n in things], np.ones(len(pieces))]
    ).astype(np.float32)
    at_hand = (np.where(both > 0.3, both, 0) * (1 - done)[:, None] * free[:, None]).sum(0)
    # What others are bringing need not be brought a second time.
    by_others = 1 - free
    promised = (
        np.where(both > 0.3, share, 0) * (by_others * (says > 0.5) * (1 - done))[:, None]
    ).sum(0)
    still = left - promised
    missing = asks * np.clip(left - at_hand, 0, 1)
    # What something is to be put next to has to be known as well.
    referred = nouns * reading.next.max(0, initial=0)
    missing = np.maximum(
        missing, referred * np.clip(1 - np.where(both > 0.3, both, 0).sum(0), 0, 1)
    )
    before = reading.before * (1 - np.eye(len(tokens), dtype=np.float32))
    blocked_token = (before * remaining[:, None]).max(0, initial=0)
    own = np.diagonal(reading.before)
    # "First clean the cups, then store them": the clean ones wait for the others.
    left_to_do = np.maximum((share * state.max(1, initial=0)[:, None]).max(0, initial=0), missing)
    waits = (share @ (own * left_to_do)) * (1 - state.max(1, initial=0))
    blocked = np.maximum(share @ blocked_token, waits)
    return Progress(
        pieces,
        things,
        found.in_room,
        said,
        to,
        begun,
        ready,
        move,
        away,
        wanted,
        state,
        share @ np.clip(still, 0, 1) * free + share @ np.clip(left, 0, 1) * by_others,
        blocked,
        (share @ own)[:count] * state[:count].max(1, initial=0),
        remaining,
        missing,
        share,
        marks[:count, APART],
        share[:count] @ reading.same @ share[:count].T,
    )


def _is_beside(situation: Situation, things: tuple[int, ...], next_to: Array) -> Array:
    """(O,): whether each was put next to one of those that it is to be next to.

    "Next to each other" is said of both, and done once for both.
    """
    index = {number: i for i, number in enumerate(things)}
    found = np.zeros(len(things), np.float32)
    for one, other in situation.beside.items():
        for first, second in ((one, other), (other, one)):
            i = index.get(first)
            if i is None:
                continue
            j = index.get(second)
            # Furniture is told apart by where the thing is put.
            said = 1.0 if j is None else float(next_to[i, j] > 0.3)
            found[i] = max(found[i], said)
    return found


def _has(situation: Situation, number: int, mark: str) -> float:
    if (number, mark) in situation.made or (number, _OPPOSITE.get(mark)) in situation.made:
        return 1.0
    thing = situation.things.get(number)
    states = thing.states if thing is not None else situation.pieces[number].states
    if mark == "powered_on":
        return float(states.get("powered_on") is True)
    if mark == "filled":
        return float(states.get("filled") is True)
    if mark == "powered_off":
        # Of furniture the state is not told before it has been seen.
        return float(thing is not None and not states.get("powered_on"))
    return 0.0


@lru_cache(maxsize=1024)
def _can_have(class_name: str) -> tuple[float, ...]:
    """By state: whether things or furniture of a class can get it; of unknown ones assumed."""
    catalogue = default_catalogue()
    cls = catalogue.objects.get(class_name) or catalogue.furniture.get(class_name)
    if cls is None:
        return (1.0,) * len(STATES)
    return tuple(float(_NEEDS[mark] in cls.affordances) for mark in STATES)


def _by_other(situation: Situation, number: int) -> bool:
    """Whether another agent holds a thing, or is on its way to it."""
    if number in situation.held:
        return False
    return situation.things[number].picked or number in situation.targets_of_others
