"""The chooser of calls: the features of a call, the ranking, and the file of a trained planner."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from planner.planning.learned.network import Array, reader_shapes
from planner.planning.learned.progress import FILLED, STATE_SKILLS, STATES, number_of
from planner.planning.learned.search import HALF, Standing, has_faucet, may_open
from planner.world.errors import FileError
from planner.world.process_resources import single_blas_thread
from planner.world.share import config_dir
from planner.world.skill import SkillCall, SkillName
from planner.world.weights_file import header_names, read_weights, require_shapes, write_weights

# The features by which the network ranks calls: of the target, of placing, of search, of all.

VERBS = (
    SkillName.CLOSE, SkillName.EXPLORE_FURNITURE, SkillName.NAVIGATE, SkillName.OPEN,
    SkillName.PICK, SkillName.PLACE, SkillName.CLEAN, SkillName.FILL, SkillName.POWER_ON,
    SkillName.POWER_OFF, SkillName.WAIT, SkillName.DONE,
)  # fmt: skip
TARGET = (
    "is thing", "is furniture", "move", "wanted", "act", "need", "blocked", "first state",
    "state of verb", "state", "held", "held by other", "target of other", "near", "distance",
    "nearest", "explored", "opened", "is closed", "may open", "failures", "same as last target",
    "begun", "mate ready",
)  # fmt: skip
PLACING = (
    "goes", "best goes", "mates here", "mates elsewhere", "apart here", "next", "next here",
    "within", "with reference", "first state of held", "faucet for held", "other load goes",
    "failed here", "full", "mate of held ready", "begun of held",
)  # fmt: skip
SEARCH = (
    "likely", "worth of look", "worth of tour", "first look", "told", "same room", "unexplored",
)  # fmt: skip
GLOBAL = (
    "holds", "hand free", "missing", "remaining", "best act", "team", "others busy",
    "explored share", "calls", "has states", "best goes of held", "waited", "unlooked share",
)  # fmt: skip
FEATURES = (*VERBS, *TARGET, *PLACING, *SEARCH, *GLOBAL)
_OF_VERB, _FAILURES = TARGET.index("state of verb"), TARGET.index("failures")


@dataclass(frozen=True, slots=True)
class _Load:
    """A held thing.

    Attributes:
        kind: its class.
        goes: (3, F); `most` is the highest.
        beside: (O,): next to which thing it goes.
        room_most: how surely it goes into a room, anywhere in it.
        mates: where what goes to the same piece, or room, was brought.
    """

    number: int
    index: int
    kind: str
    goes: list[list[float]]
    most: float
    room_most: float
    beside: list[float]
    mates: frozenset[int | None]


class CallFeatures:
    """Features of one agent's calls in one situation."""

    def __init__(self, standing: Standing) -> None:
        """What is the same for all calls is found once."""
        self._at = at = standing
        worths = [at.looks.explore, at.looks.open]
        self._best_worth = max(float(w.max(initial=0)) for w in worths)
        self._best_tour = float(at.looks.tour.max(initial=0))
        self._to_do = sorted(
            at.distances_m.get(n, 99.0) for n, i in at.things.items() if at.act[i] > HALF
        )
        self._global = self._globals()
        self._rows: dict[int, list[float]] = {}
        self._loads: dict[int, _Load] = {}

    def of(self, call: SkillCall, made: SkillCall | None = None) -> list[float]:
        """In the order of `FEATURES`.

        Args:
            call: what is to be done.
            made: the call that is made for it, whose failures count; default: the same.
        """
        verb = [float(call.name == name) for name in VERBS]
        number = number_of(call.arguments[0]) if call.arguments else None
        target, placing, search = [0.0] * len(TARGET), [0.0] * len(PLACING), [0.0] * len(SEARCH)
        if call.name == SkillName.PLACE:
            place = number_of(call.arguments[2])
            if number is not None and place is not None:
                target = self._target(call, place)
                reference = number_of(call.arguments[4])
                placing = self._placing([number], place, str(call.arguments[1]), reference)
        elif number is not None:
            target = self._target(call, number)
            if number in self._at.places:
                placing = self._placing(self._at.now.held, number, "", None)
                search = self._search(call.name, number)
            elif number in self._at.things:
                placing = self._beside(number)
        if self._at.now.failures:
            target[_FAILURES] = min(self._at.now.failures[str(made or call)], 3) / 3
        return [*verb, *target, *placing, *search, *self._global]

    def _target(self, call: SkillCall, number: int) -> list[float]:
        """Most is the same for all calls with a target."""
        row = self._rows.get(number)
        if row is None:
            row = self._rows[number] = self._target_row(number)
        row = list(row)
        i = self._at.index(number)
        for k, mark in enumerate(STATES):
            if STATE_SKILLS[mark] == call.name:
                row[_OF_VERB] = float(self._at.progress.state[i, k])
        return row

    def _target_row(self, number: int) -> list[float]:
        now, p = self._at.now, self._at.progress
        i = self._at.index(number)
        is_thing = number in self._at.things
        piece = now.pieces.get(number)
        last = number_of(now.last.arguments[0]) if now.last and now.last.arguments else None
        distance = self._at.distances_m.get(number)
        limit = distance if distance is not None else 99.0
        nearer = bisect_left(self._to_do, limit)
        place = self._at.place_of(number)
        return [
            float(is_thing),
            float(not is_thing),
            float(p.move[i]) if is_thing else 0.0,
            float(p.wanted[i]) if is_thing else 0.0,
            float(self._at.act[i]),
            float(p.need[i]),
            float(p.blocked[i]),
            float(p.first_state[i]) if is_thing else 0.0,
            0.0,
            float(p.state[i].max()) if SkillName.CLEAN in self._at.verbs else 0.0,
            float(number in now.held),
            float(is_thing and now.things[number].picked and number not in now.held),
            float(number in self._at.others),
            float(self._at.is_near(number)),
            min(distance, 20.0) / 10 if distance is not None else 0.7,
            1 / (1 + nearer),
            min(now.explored[place], 2) / 2 if place is not None else 0.0,
            float(place is not None and now.opened[place] > 0),
            float(piece is not None and piece.is_open is False),
            float(piece is not None and piece.is_open is not True and may_open(piece.class_name)),
            0.0,
            float(last == number),
            float(p.begun[i]) if is_thing else 0.0,
            float(p.ready[i]) if is_thing else 0.0,
        ]

    def _placing(
        self, held: Collection[int], place: int, relation: str, reference: int | None
    ) -> list[float]:
        now, p, f = self._at.now, self._at.progress, self._at.places[place]
        loads = [self._load(n) for n in held if n in self._at.things]
        if not loads:
            return [0.0] * len(PLACING)
        kinds = (0, 2) if relation == "on" else (1, 2) if relation == "within" else (0, 1, 2)
        fits = [max(load.goes[kind][f] for kind in kinds) for load in loads]
        best = max(range(len(loads)), key=fits.__getitem__)
        load = loads[best]
        h = load.index
        others = [max(goes[f] for goes in o.goes) for o in loads if o is not load]
        here = place in load.mates
        if load.room_most > HALF:
            here = now.pieces[place].room in {
                now.pieces[n].room for n in load.mates if n in now.pieces
            }
        lying = self._at.lying[place]
        things = (p.things[i] for i in lying if i != h)
        alike = p.apart[h] > 0 and any(now.things[n].class_name == load.kind for n in things)
        return [
            fits[best],
            load.most,
            float(here),
            float(bool(load.mates) and not here),
            float(p.apart[h] * alike),
            max(load.beside, default=0.0),
            max([load.beside[i] for i in lying], default=0.0),
            float(relation == "within"),
            float(reference is not None),
            float(p.first_state[h]),
            float(has_faucet(now.pieces[place].class_name) * p.state[h, FILLED]),
            max(others, default=0.0),
            min(now.refused[load.number, place], 3) / 3 if now.refused else 0.0,
            min(sum(n for (_, at), n in now.refused.items() if at == place), 4) / 4,
            float(p.ready[h]),
            float(p.begun[h]),
        ]

    def _load(self, number: int) -> _Load:
        if number not in self._loads:
            p, h = self._at.progress, self._at.things[number]
            self._loads[number] = _Load(
                number,
                h,
                self._at.now.things[number].class_name,
                p.goes[:, h].tolist(),
                float(p.goes[:, h].max(initial=0)),
                float(p.goes[2, h].max(initial=0)),
                p.grounded.next_things[h].tolist(),
                self._mates(h),
            )
        return self._loads[number]

    def _beside(self, thing: int) -> list[float]:
        """For a walk to a thing that something in the hand is to be put next to."""
        values = [0.0] * len(PLACING)
        held = [self._at.things[n] for n in self._at.now.held if n in self._at.things]
        if held:
            beside = self._at.progress.grounded.next_things[held, self._at.things[thing]]
            values[PLACING.index("next here")] = float(beside.max())
        return values

    def _search(self, verb: str, place: int) -> list[float]:
        now, f, looks = self._at.now, self._at.places[place], self._at.looks
        here = self._at.place_of(now.near) if now.near is not None else None
        explores = verb == SkillName.EXPLORE_FURNITURE
        likely = looks.outside[f] if explores else looks.inside[f]
        worth = looks.explore[f] if explores else looks.open[f]
        return [
            min(4 * float(likely), 1.0),
            float(worth) / self._best_worth if self._best_worth > 0 else 0.0,
            float(looks.tour[f]) / self._best_tour if self._best_tour > 0 else 0.0,
            float(looks.first[f] == (1 if explores else 2)),
            float(looks.told[f]),
            float(here is not None and now.pieces[here].room == now.pieces[place].room),
            float(now.explored[place] == 0 and now.opened[place] == 0),
        ]

    def _mates(self, held: int) -> frozenset[int | None]:
        """Where what is to go to the same piece as a held thing was brought already."""
        now, p = self._at.now, self._at.progress
        alike = (p.wanted > 0.3) & (p.move < 0.3) & (p.same[held] > 0.3)
        numbers = [p.things[i] for i in np.flatnonzero(alike)]
        return frozenset(
            self._at.where[n] for n in numbers if n not in now.held and not now.things[n].picked
        )

    def _globals(self) -> list[float]:
        now, p = self._at.now, self._at.progress
        held = [self._at.things[n] for n in now.held if n in self._at.things]
        goes = p.goes[:, held].max(initial=0) if held else 0.0
        others = [self._at.act[i] for n, i in self._at.things.items() if n not in now.held]
        others += list(self._at.act[len(self._at.things) :])
        return [
            float(bool(now.held)),
            float(self._at.free_to_open),
            float(p.missing.max(initial=0)),
            float(p.remaining.max(initial=0)),
            float(max(others, default=0.0)),
            float(self._at.team > 1),
            float(bool(now.others)),
            len([n for n in p.pieces if now.explored[n] or now.opened[n]]) / max(1, len(p.pieces)),
            min(now.calls, 100) / 50,
            float(SkillName.CLEAN in self._at.verbs),
            float(goes),
            float(self._at.waited),
            self._at.looks.left,
        ]


HIDDEN = (96, 64)


def chooser_shapes() -> dict[str, tuple[int, ...]]:
    """The weights by name."""
    sizes = (len(FEATURES), *HIDDEN, 1)
    shapes: dict[str, tuple[int, ...]] = {}
    for i, (before, after) in enumerate(pairwise(sizes)):
        shapes[f"choose{i}.weight"] = (before, after)
        shapes[f"choose{i}.bias"] = (after,)
    return shapes


def best(verbs: Sequence[str], ranks: Array) -> int:
    """The index of the call to make: the most likely one, where all looks count as one.

    A search has many looks that are each as good as the next; one unlikely call of another verb
    must not win because they share what speaks for searching. Of walks it is otherwise: where a
    thing can be put down at many pieces, all of them together must not lead away from the one that
    it was brought to.

    Args:
        verbs: of each call.
        ranks: (C,) as of `rank`, logarithms of likelihoods.
    """
    weights = np.exp(ranks - ranks.max())
    looks = [i for i, verb in enumerate(verbs) if verb == SkillName.EXPLORE_FURNITURE]
    others = [i for i, verb in enumerate(verbs) if verb != SkillName.EXPLORE_FURNITURE]
    other = max(others, key=lambda i: float(ranks[i]), default=None)
    if looks and (other is None or float(weights[looks].sum()) > float(weights[other])):
        return max(looks, key=lambda i: float(ranks[i]))
    assert other is not None  # noqa: S101 - there is always a call
    return other


@single_blas_thread
def rank(weights: Mapping[str, Array], features: Array) -> Array:
    """(C,): the score of each call; the highest is chosen."""
    x = features
    for i in range(len(HIDDEN)):
        x = np.maximum(0, x @ weights[f"choose{i}.weight"] + weights[f"choose{i}.bias"])
    last = len(HIDDEN)
    scores: Array = (x @ weights[f"choose{last}.weight"] + weights[f"choose{last}.bias"])[:, 0]
    return scores


# The file of a trained planner: safetensors, half precision, with its vocabulary in the header.

VERSION = "1"


@dataclass(frozen=True, slots=True)
class PlannerModel:
    """Trained weights.

    Attributes:
        vocabulary: numbers of the words.
        weights: float32, by the names of `reader_shapes` and `chooser_shapes`.
        notes: how it was trained, for the record.
    """

    vocabulary: Mapping[str, int]
    weights: Mapping[str, Array]
    notes: Mapping[str, str]


def shipped_planner() -> Path:
    """The model that comes with the package."""
    return config_dir() / "models" / "planner.safetensors"


def write_planner(path: Path, model: PlannerModel) -> None:
    """Writes a model.

    Raises:
        FileError: where it cannot be written.
    """
    words = sorted(model.vocabulary, key=model.vocabulary.__getitem__)
    metadata = {
        **model.notes,
        "planner_learned_model": VERSION,
        "vocabulary": json.dumps(words),
        "features": json.dumps([str(name) for name in FEATURES]),
    }
    write_weights(path, model.weights, metadata)


def read_planner(path: Path) -> PlannerModel:
    """Reads a model.

    Raises:
        FileError: where it is missing, of another kind or version, or does not fit this network.
    """
    weights, metadata = read_weights(path)
    if metadata.pop("planner_learned_model", "") != VERSION:
        raise FileError(path, "planner_learned_model", f"is not a planner of version {VERSION}")
    words = header_names(path, metadata, "vocabulary")
    if header_names(path, metadata, "features") != tuple(str(name) for name in FEATURES):
        raise FileError(path, "features", "are others than this version ranks calls by")
    require_shapes(path, weights, {**reader_shapes(len(words)), **chooser_shapes()})
    return PlannerModel({word: i for i, word in enumerate(words)}, weights, metadata)


@lru_cache(maxsize=2)
def cached_planner(path: Path) -> PlannerModel:
    """As `read_planner`, read once a process."""
    return read_planner(path)
