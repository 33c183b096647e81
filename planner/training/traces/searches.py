"""Puts searches into recorded runs of those who knew where a thing was (EPM-2.7).

A person, or a planner with full knowledge, goes straight to what the robot's memory has not seen.
Before the first call for such a thing some likely furniture is explored where it is not, then the
piece that holds it; what the memory noted of that furniture later is told then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from planner.parts.calls import parse_call
from planner.training.traces.demonstrator import ExplorationRule
from planner.training.traces.record import Trace, TraceTurn
from planner.world.catalogue import default_catalogue
from planner.world.skill import SUCCESS_TEXT, SkillName

_LINE = re.compile(r"Object\.(\d+): (.*?)(?: in \S+)?")
_ADDED = re.compile(r"Add Object\.(\d+)(?: \(picked\))?: (.*)")
_HOLDER = re.compile(r" with the Object\.(\d+)$")
_NUMBER = re.compile(r"Object\.(\d+)")


def with_searches(trace: Trace, rule: ExplorationRule, rng: np.random.Generator) -> Trace:
    """The trace with a search before each thing that was not known when it was first handled.

    Where the memory never said on what a thing is, the call stays, and is not imitated.
    """
    classes = dict(_classes(trace.entities))
    known, explored = set(classes), set[int]()
    left = list(trace.turns)
    kept: list[TraceTurn] = []
    count = 0
    while left:
        turn = left.pop(0)
        call = parse_call(turn.call)
        missing = [n for n in _numbers(turn.call) if n not in known]
        holder = _holder_of(missing[0], [turn, *left]) if missing else None
        if missing and holder is None:
            turn = turn.model_copy(update={"learned": False})
            known.update(missing)
        elif missing and holder is not None:
            left = [turn, *left]
            likely = _likely(missing[0], left, classes, explored | {holder})
            shares = rule.shares()[: len(likely) + 1]
            vain = int(rng.choice(len(shares), p=np.array(shares) / sum(shares)))
            chosen = [likely[i] for i in rng.permutation(len(likely))[:vain]]
            for piece in (*chosen, holder):
                found, left = _told_of(piece, left, known)
                kept.append(_explored(piece, found, turn))
                known.update(n for line in found for n in _added(line))
            explored.update((*chosen, holder))
            count += len(chosen) + 1
            # Told now at the latest, so that the next round goes on.
            known.update(missing)
            continue
        if call.name == SkillName.EXPLORE_FURNITURE:
            explored.update(_numbers(turn.call))
        known.update(n for line in turn.deltas for n in _added(line))
        kept.append(turn)
    more = trace.provenance.explored + count
    provenance = trace.provenance.model_copy(update={"explored": more})
    return trace.model_copy(update={"turns": tuple(kept), "provenance": provenance})


def _classes(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The class of each entity that is known at the start."""
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is not None:
            yield int(match.group(1)), match.group(2).replace(" ", "_")


def _numbers(text: str) -> list[int]:
    return [int(n) for n in _NUMBER.findall(text)]


def _added(line: str) -> list[int]:
    match = _ADDED.fullmatch(line)
    return [int(match.group(1))] if match is not None else []


def _holder_of(number: int, turns: Sequence[TraceTurn]) -> int | None:
    """The furniture with which the memory added a thing; None = it never said."""
    for line in (line for turn in turns for line in turn.deltas):
        match, holder = _ADDED.fullmatch(line), _HOLDER.search(line)
        if match is not None and int(match.group(1)) == number:
            return int(holder.group(1)) if holder is not None else None
    return None


def _likely(
    number: int, turns: Sequence[TraceTurn], classes: dict[int, str], not_these: set[int]
) -> list[int]:
    """Furniture where things of this class are usual, or all if none is; what was explored not."""
    words = next(
        (
            _HOLDER.sub("", match.group(2))
            for turn in turns
            for line in turn.deltas
            if (match := _ADDED.fullmatch(line)) and int(match.group(1)) == number
        ),
        "",
    )
    kind = default_catalogue().objects.get(words.replace(" ", "_"))
    usual = {place.furniture for place in kind.places} if kind is not None else set()
    pieces = [n for n in classes if n not in not_these]
    return [n for n in pieces if classes[n] in usual] or pieces


def _told_of(
    piece: int, turns: Sequence[TraceTurn], known: set[int]
) -> tuple[tuple[str, ...], list[TraceTurn]]:
    """What was added with a piece of furniture later, and the turns without it."""
    found: list[str] = []
    rest = []
    for turn in turns:
        own = [line for line in turn.deltas if _is_of(piece, line, known)]
        found += own
        told = tuple(line for line in turn.deltas if line not in own)
        rest.append(turn.model_copy(update={"deltas": told}) if own else turn)
    return tuple(dict.fromkeys(found)), rest


def _is_of(piece: int, line: str, known: set[int]) -> bool:
    holder = _HOLDER.search(line)
    new = [n for n in _added(line) if n not in known]
    return bool(new) and holder is not None and int(holder.group(1)) == piece


def _explored(piece: int, told: tuple[str, ...], before: TraceTurn) -> TraceTurn:
    return TraceTurn(
        call=f"ExploreFurniture[Object.{piece}]",
        result=SUCCESS_TEXT,
        deltas=told,
        others=before.others,
    )
