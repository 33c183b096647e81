"""Scores memory updaters on simulated tours against ground truth: `planner bench memory`.

Each house is toured twice. Between the tours some objects are moved, to measure how long a memory
keeps outdated beliefs. All updaters get the same images.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace

import numpy as np
from pydantic import TypeAdapter

from planner.app.house_tour import AGENT, tour, tour_episode
from planner.houses.clutter import ObjectRequest, place_objects
from planner.memory.memory import Memory
from planner.memory.scores import (
    TrueThings,
    placed_things,
    score_truth,
    true_things,
    variants,
)
from planner.memory.updater import MemoryUpdater
from planner.world.belief import Entity
from planner.world.house import House, ObjectPlacement
from planner.world.observation import Observation
from planner.world.vocabulary import AgentKind
from sim_bridge.backend import Backend, make_backend

_MOVED_SHARE = 0.2
_ENTITY = TypeAdapter(Entity)
MakeUpdater = Callable[[House, Backend], MemoryUpdater]


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve: seconds into the tour, and the memory's scores then."""

    stamp_s: float
    precision: float | None
    recall: float | None
    hallucinations: int


@dataclass(frozen=True, slots=True)
class HouseScore:
    """One updater's scores in one house.

    Recall is of all objects in the open; `recall_seen` of those that a memory with ground truth
    learned on the same tour; `recall_all` also of those in closed furniture. Staleness is of
    objects that were moved between the tours: seconds of the second tour until the memory no longer
    had them at the old place, or its whole length.
    """

    house: str
    updater: str
    precision: float | None
    recall: float | None
    recall_seen: float | None
    recall_all: float | None
    precision_any_class: float | None
    recall_any_class: float | None
    precision_any_place: float | None
    recall_any_place: float | None
    hallucinations_end: int
    hallucinations_mean: float
    error_m: float | None
    parents_right: float | None
    staleness_s: float | None
    stale_share: float | None
    update_ms: float
    size_bytes: int
    looks: int
    curve: tuple[Point, ...]


@dataclass(slots=True)
class _Candidate:
    """An updater being scored in one house."""

    name: str
    memory: Memory
    taken_s: list[float] = field(default_factory=list)
    curve: list[Point] = field(default_factory=list)

    def observe(self, observation: Observation) -> None:
        begin = time.perf_counter()
        self.memory.observe(observation)
        self.taken_s.append(time.perf_counter() - begin)

    def things(self) -> list[Entity]:
        return [e for e in self.memory.snapshot().entities if not e.is_furniture]


# Frames between two points of the curves.
_CURVE_EVERY = 20


def _embedded() -> Backend:
    return make_backend("embedded")


def score_house(
    house: House,
    makers: Mapping[str, MakeUpdater],
    *,
    reference: str,
    distance_m: float,
    seed: int,
    on_progress: Callable[[str], None],
    second_tour: bool = True,
    pieces: bool = True,
    open_backend: Callable[[], Backend] = _embedded,
) -> list[HouseScore]:
    """Tours a house with all updaters and scores each.

    Args:
        house: as it is before objects are moved.
        makers: of the updaters by name.
        reference: the updater that defines what could be seen.
        distance_m: maximum distance of a match.
        seed: of the starting position and of the moved objects.
        on_progress: called with each line of progress.
        second_tour: whether to move objects and tour the house again.
        pieces: whether to walk up to each piece of furniture.
        open_backend: makes the simulator, which has pictures.
    """
    backend = open_backend()
    try:
        backend.reset(house, tour_episode(house), seed)
        layout = house.layout
        candidates = [
            _Candidate(name, Memory(layout, make(layout, backend), agents={AGENT: AgentKind.ROBOT}))
            for name, make in makers.items()
        ]
        looks = _walk(backend, house, candidates, 0.0, distance_m, pieces)
        first_s = backend.now_s()
        on_progress(f"{house.name}: {looks} looks in {first_s:.0f} s of the tour")
        truth = _truth(backend)
        seen = {e.name for s in candidates if s.name == reference for e in s.things()}
        scores = [
            _score(house, candidate, truth, seen, distance_m, looks) for candidate in candidates
        ]
        if second_tour:
            moved = move_things(house, np.random.default_rng([seed, 17]))
            backend.reset(moved, tour_episode(moved), seed)
            stale = _Staleness(house, moved)
            _walk(backend, moved, candidates, first_s, distance_m, pieces, stale)
            scores = [
                stale.onto(score, tuple(candidate.curve))
                for score, candidate in zip(scores, candidates, strict=True)
            ]
        return scores
    finally:
        backend.close()


def _walk(
    backend: Backend,
    house: House,
    candidates: Sequence[_Candidate],
    offset_s: float,
    distance_m: float,
    pieces: bool,
    stale: _Staleness | None = None,
) -> int:
    looks = 0
    for seen in tour(backend, house, pieces=pieces):
        observation = replace(seen, stamp_s=seen.stamp_s + offset_s)
        for candidate in candidates:
            candidate.observe(observation)
            if looks % _CURVE_EVERY == 0:
                candidate.curve.append(
                    _point(candidate, observation.stamp_s, _truth(backend), distance_m)
                )
            if stale is not None:
                stale.note(candidate, seen.stamp_s)
        looks += 1
    return looks


def _truth(backend: Backend) -> TrueThings:
    state = backend.world_state()
    return TrueThings((), (), {}) if state is None else true_things(state)


def _point(candidate: _Candidate, stamp_s: float, truth: TrueThings, distance_m: float) -> Point:
    made = score_truth(candidate.things(), truth, distance_m)
    return Point(stamp_s, made.precision, made.recall, made.hallucinations)


def _score(
    house: House,
    candidate: _Candidate,
    truth: TrueThings,
    seen: set[str],
    distance_m: float,
    looks: int,
) -> HouseScore:
    entities = candidate.things()
    made = score_truth(entities, truth, distance_m)
    everything, open_ = made.everything, made.open
    visible = [p for p in truth.everything if p.name in seen]
    could = variants(placed_things(entities), visible, distance_m)
    by_name = {e.name: e for e in entities}
    parents = [
        by_name[m.remembered].parent == truth.parents[m.true] for m in everything.full.matches
    ]
    return HouseScore(
        house=house.name,
        updater=candidate.name,
        precision=everything.full.precision,
        recall=open_.full.recall,
        recall_seen=could.full.recall,
        recall_all=everything.full.recall,
        precision_any_class=everything.any_class.precision,
        recall_any_class=open_.any_class.recall,
        precision_any_place=everything.any_place.precision,
        recall_any_place=open_.any_place.recall,
        hallucinations_end=everything.hallucinations,
        hallucinations_mean=float(np.mean([p.hallucinations for p in candidate.curve])),
        error_m=everything.full.error_m,
        parents_right=float(np.mean(parents)) if parents else None,
        staleness_s=None,
        stale_share=None,
        update_ms=float(np.median(candidate.taken_s)) * 1000,
        size_bytes=sum(len(_ENTITY.dump_json(e)) for e in candidate.memory.snapshot().entities),
        looks=looks,
        curve=tuple(candidate.curve),
    )


# Moved objects


def move_things(house: House, rng: np.random.Generator) -> House:
    """The house with some of its objects moved elsewhere."""
    count = max(1, round(_MOVED_SHARE * len(house.objects)))
    chosen = set(rng.choice(len(house.objects), count, replace=False).tolist())
    kept = [o for i, o in enumerate(house.objects) if i not in chosen]
    for index in sorted(chosen):
        old = house.objects[index]
        made = place_objects(house, [ObjectRequest((old.class_name,))], rng, kept)[0]
        kept.append(
            made.model_copy(update={"name": old.name}) if isinstance(made, ObjectPlacement) else old
        )
    return house.model_copy(update={"objects": tuple(kept)})


def _apart_m(a: ObjectPlacement, b: ObjectPlacement) -> float:
    return float(np.hypot(a.pose[0] - b.pose[0], a.pose[1] - b.pose[1]))


class _Staleness:
    """Measures how long moved objects are believed to be at their old places."""

    def __init__(self, before: House, after: House) -> None:
        now = {o.name: o for o in after.objects}
        self._moved = [
            o
            for o in before.objects
            if _apart_m(o, now[o.name]) > 1.0
            # A memory is right about the old place if another object of the class is there now.
            and not any(p.class_name == o.class_name and _apart_m(o, p) < 1.0 for p in now.values())
        ]
        self._left: dict[str, set[str]] = {}
        self._corrected_s: dict[str, list[float]] = {}
        self._end_s = 0.0

    def note(self, candidate: _Candidate, stamp_s: float) -> None:
        """Checks whether old places are still believed."""
        first = candidate.name not in self._left
        places = {(e.class_name, e.position_m) for e in candidate.things() if not e.picked}
        believed = {
            o.name
            for o in self._moved
            if any(
                c == o.class_name and np.hypot(p[0] - o.pose[0], p[1] - o.pose[1]) < 0.5
                for c, p in places
            )
        }
        before = believed if first else self._left[candidate.name]
        times = self._corrected_s.setdefault(candidate.name, [])
        times += [stamp_s] * len(before - believed)
        self._left[candidate.name] = before & believed
        self._end_s = stamp_s

    def onto(self, score: HouseScore, curve: tuple[Point, ...]) -> HouseScore:
        """The score with the mean seconds until corrected, and the share never corrected."""
        left = len(self._left.get(score.updater, ()))
        times = self._corrected_s.get(score.updater, []) + [self._end_s] * left
        return replace(
            score,
            staleness_s=float(np.mean(times)) if times else None,
            stale_share=left / len(times) if times else None,
            curve=curve,
        )


# Output


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval over houses or episodes, by resampling them."""

    mean: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def interval(values: Sequence[float | None], rounds: int = 2000, seed: int = 0) -> Interval | None:
    """The mean of the values that there are; None without any."""
    known = np.array([v for v in values if v is not None], float)
    if not known.size:
        return None
    rng = np.random.default_rng(seed)
    means = known[rng.integers(known.size, size=(rounds, known.size))].mean(axis=1)
    low, high = (float(v) for v in np.quantile(means, (0.025, 0.975)))
    return Interval(float(known.mean()), low, high, int(known.size))


_RATES = tuple(
    f.name for f in fields(HouseScore) if f.name not in ("house", "updater", "looks", "curve")
)


def summary(scores: Sequence[HouseScore]) -> dict[str, dict[str, Interval | None]]:
    """Means over the houses with intervals, by updater and measure."""
    updaters = dict.fromkeys(score.updater for score in scores)
    return {
        updater: {
            rate: interval([getattr(s, rate) for s in scores if s.updater == updater])
            for rate in _RATES
        }
        for updater in updaters
    }


def table(scores: Sequence[HouseScore]) -> str:
    """The summary as text, one column per updater."""
    made = summary(scores)
    rows = [["", *made]]
    for rate in _RATES:
        cells = [made[updater][rate] for updater in made]
        rows.append([rate, *("-" if cell is None else str(cell) for cell in cells)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def as_json(scores: Sequence[HouseScore], settings: Mapping[str, object]) -> str:
    """All scores and settings as JSON."""
    summed = {
        updater: {rate: None if v is None else asdict(v) for rate, v in rates.items()}
        for updater, rates in summary(scores).items()
    }
    document = {
        "version": 1,
        "settings": dict(settings),
        "summary": summed,
        "houses": [asdict(score) for score in scores],
    }
    return json.dumps(document, indent=1)
