"""What the chooser learns from: the choices of each turn of a trace, and which was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.parts.calls import parse_call
from planner.planning.learned.choices import WAIT, ChoiceMaker
from planner.planning.learned.matches import Array
from planner.planning.learned.network import read
from planner.planning.learned.progress import progress_of
from planner.planning.learned.situation import Situation
from planner.planning.learned.tokens import read_tokens
from planner.training.traces.record import Trace


@dataclass(frozen=True, slots=True)
class Example:
    """(C, FEATURES) features of the choices, the index of the one that was made, and its weight."""

    features: Array
    made: int
    weight: float = 1.0


@dataclass(slots=True)
class Left:
    """Turns that gave no example, by reason."""

    not_learned: int = 0
    not_a_choice: int = 0
    taken: int = 0


def examples_of(
    trace: Trace, weights: Mapping[str, Array], vocabulary: Mapping[str, int], left: Left
) -> Iterator[Example]:
    """The examples of one trace, in order."""
    tokens = read_tokens(trace.instruction, vocabulary)
    reading = read(weights, vocabulary, tokens)
    situation = Situation()
    situation.begin(trace.entities, trace.positions_m)
    waited = False
    is_practice = any(turn.shown for turn in trace.turns)
    for turn in trace.turns:
        situation.see_others(turn.others)
        if turn.shown or (turn.learned and not is_practice):
            progress = progress_of(tokens, reading, situation)
            maker = ChoiceMaker(
                tokens, reading, situation, progress, trace.verbs, len(trace.team), waited=waited
            )
            choices = maker.choices()
            names = [str(call) for call in choices.calls]
            shown = _as_searched(turn.shown or turn.call, maker)
            if shown in names:
                left.taken += 1
                yield Example(choices.features, names.index(shown))
            else:
                left.not_a_choice += 1
        else:
            left.not_learned += 1
        waited = turn.call == str(WAIT)
        if turn.call != str(WAIT):
            situation.ended(turn.call, succeeded=turn.succeeded)
        situation.told(turn.deltas)


def _as_searched(shown: str, maker: ChoiceMaker) -> str:
    """The call itself; for one that looks for something, where looking is worth most.

    Who demonstrates knows where the thing is; who learns has to find it, with the least walking.
    """
    call = parse_call(shown)
    look = maker.next_look() if maker.is_look(call) else None
    return str(look) if look is not None else shown


def packed(examples: list[Example]) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """All choices in one array, the first choice of each example, and the one that was made."""
    sizes = np.array([len(example.features) for example in examples], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    made = np.array([example.made for example in examples], np.int64)
    return np.concatenate([example.features for example in examples]), starts, made
