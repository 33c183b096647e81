"""Whether a plan is the routine that was asked for (HELPER-C43, HELPER-D85)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.episodes.teach.routines import Wanted
from planner.planning.programs.program import Program
from planner.planning.routines.plan_outcome import PlannedThing, outcome_of


@dataclass(frozen=True, slots=True)
class PlanScore:
    """A judgement; `faults` are sentences, none for a right plan."""

    faults: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether the plan is what was asked for."""
        return not self.faults


def score_plan(program: Program, wanted: Sequence[Wanted]) -> PlanScore:
    """Judges a plan: exactly what is wanted, at one and the same place, and nothing else of it.

    Args:
        program: that was read and checked.
        wanted: the parts of the result.
    """
    outcome = outcome_of(program)
    choices = [
        _faults(outcome.things, wanted, places) for places in _places(outcome.things, wanted)
    ]
    return PlanScore((*outcome.faults, *min(choices, key=len)))


def _places(
    things: Sequence[PlannedThing], wanted: Sequence[Wanted]
) -> Iterator[Mapping[str, PlannedThing | None]]:
    """For each class of places that is wanted, the instance that is meant; each combination."""
    names = list(dict.fromkeys(part.place for part in wanted if part.place))
    used: list[list[PlannedThing | None]] = []
    for name in names:
        found = dict.fromkeys(t.place for t in things if t.place and t.place.class_name == name)
        used.append(list(found) or [None])
    for chosen in itertools.product(*used):
        yield dict(zip(names, chosen, strict=True))


def _faults(
    things: Sequence[PlannedThing],
    wanted: Sequence[Wanted],
    places: Mapping[str, PlannedThing | None],
) -> list[str]:
    faults: list[str] = []
    left = [thing for thing in things if not thing.is_device]
    # A thing that serves as a place can be that part only.
    meant = {id(place) for place in places.values() if place is not None}
    for part in sorted(wanted, key=lambda p: (not p.place, -len(p.states))):
        fit = [thing for thing in left if _fits(thing, part, places)]
        fit.sort(key=lambda thing: id(thing) not in meant)
        for thing in fit[: part.number]:
            left.remove(thing)
        if len(fit) < part.number:
            faults.append(f"{_words(part)}: wanted {part.number}, planned {len(fit)}")
    faults += [f"not wanted: {_thing_words(thing)}" for thing in left if _is_result(thing, places)]
    return faults


def _fits(thing: PlannedThing, part: Wanted, places: Mapping[str, PlannedThing | None]) -> bool:
    return (
        thing.class_name == part.class_name
        and thing.states >= set(part.states)
        and (not part.place or (thing.place is not None and thing.place is places[part.place]))
    )


def _is_result(thing: PlannedThing, places: Mapping[str, PlannedThing | None]) -> bool:
    """Whether something that nobody wanted is left at a place of the result, or was made."""
    if thing.place is not None and thing.place.class_name in places:
        return True
    is_means = thing.place is not None and thing.place.is_device
    return bool(thing.states & {"clean", "coffee", "water"}) and not is_means


def _words(part: Wanted) -> str:
    place = f" at {part.place}" if part.place else ""
    return f"{' '.join([*part.states, part.class_name])}{place}"


def _thing_words(thing: PlannedThing) -> str:
    place = f" at {thing.place.class_name}" if thing.place is not None else ""
    return f"{' '.join([*sorted(thing.states), thing.class_name])}{place}"
