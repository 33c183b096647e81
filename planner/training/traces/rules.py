"""What is left out of recorded runs, and the tries and searches that are put in (EPM-2.7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.parts.calls import parse_call
from planner.training.traces.demonstrator import ExplorationRule
from planner.training.traces.record import Trace, TraceTurn
from planner.world.catalogue import default_catalogue
from planner.world.skill import FAILURE_PREFIX, SUCCESS_TEXT, SkillName

_NUMBER = re.compile(r"Object\.(\d+)")
_ADDED = re.compile(r"Add Object\.(\d+): (.*)")
# Walking, looking, waiting: they change nothing of the goal and are still needed.
_FREE = frozenset({
    SkillName.NAVIGATE, SkillName.EXPLORE_FURNITURE, SkillName.EXPLORE, SkillName.WAIT,
    SkillName.DONE, SkillName.OPEN, SkillName.CLOSE, SkillName.PICK,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class TraceRules:
    """How recorded runs become training data.

    Attributes:
        keep_failed: whether runs that did not solve the task are kept.
        invented: share of picks before which one of an invented instance is tried.
        drop_repeats: whether calls that say and do the same as the one before are dropped.
        drop_idle: whether placements and changes of states that serve nothing are not imitated.
    """

    keep_failed: bool = False
    invented: float = 0.1
    drop_repeats: bool = True
    drop_idle: bool = True


def improved(traces: Sequence[Trace], rules: TraceRules, rng: np.random.Generator) -> list[Trace]:
    """The traces of one run by the rules; none if the run is left out."""
    if not rules.keep_failed and any(trace.reward == 0 for trace in traces):
        return []
    found = []
    for trace in traces:
        if rules.drop_repeats:
            trace = without_repeats(trace)
        if rules.drop_idle:
            trace = without_idle(trace)
        if rules.invented > 0:
            trace = with_invented(trace, rules.invented, rng)
        found.append(trace)
    return found


def without_repeats(trace: Trace) -> Trace:
    """Drops a call that follows an equal one with the same end, when neither told anything."""
    kept: list[TraceTurn] = []
    for turn in trace.turns:
        last = kept[-1] if kept else None
        if (
            last is not None
            and (last.call, last.result, last.deltas) == (turn.call, turn.result, turn.deltas)
            and not turn.deltas
        ):
            continue
        kept.append(turn)
    return _with_turns(trace, kept, dropped=len(trace.turns) - len(kept))


def without_idle(trace: Trace) -> Trace:
    """Marks calls that change the world but not the goal, and failed ones, as not to be imitated.

    They stay in the dialogue, so that what follows from them is still told. A placement counts if
    the thing is used no more: it may serve a part of the goal that holds only later.
    """
    turns = list(trace.turns)
    moved: set[str] = set()
    for index in range(len(turns) - 1, -1, -1):
        turn = turns[index]
        call = parse_call(turn.call)
        thing = call.arguments[0] if call.arguments else None
        useless = turn.gain < 0 or (turn.gain == 0 and thing in moved)
        failed = bool(turn.result) and not turn.succeeded
        if failed or (call.name not in _FREE and useless):
            turns[index] = turn.model_copy(update={"learned": False})
        if call.name not in _FREE and thing is not None:
            moved.add(thing)
    return _with_turns(trace, turns)


def with_invented(trace: Trace, share: float, rng: np.random.Generator) -> Trace:
    """Puts Navigate and Pick of an invented instance before some picks.

    The instance appears in the memory with a number of its own, so that later numbers move up by
    one; its pick fails, it is removed, and the true one is gone to as before.
    """
    if len(trace.team) > 1:
        # All agents read the same memory; an instance in one dialogue only would be no memory.
        return trace
    turns = list(trace.turns)
    count = 0
    index = 0
    while index < len(turns):
        call = parse_call(turns[index].call)
        is_pick = call.name == SkillName.PICK and turns[index].succeeded
        if is_pick and index >= 2 and rng.random() < share:
            made = _invented(trace, turns, index, str(call.arguments[0]), rng)
            if made is not None:
                turns, added = made, len(made) - len(turns)
                count += 1
                index += added
        index += 1
    if not count:
        return trace
    found = _with_turns(trace, turns)
    more = found.provenance.model_copy(update={"invented": count})
    return found.model_copy(update={"provenance": more})


def _invented(
    trace: Trace, turns: Sequence[TraceTurn], index: int, thing: str, rng: np.random.Generator
) -> list[TraceTurn] | None:
    """The turns with a try before the Navigate that leads to the pick at `index`."""
    start = index - 1 if parse_call(turns[index - 1].call).name == SkillName.NAVIGATE else index
    if start == 0:
        return None
    words = next(
        (
            match.group(2)
            for turn in turns[:start]
            for line in turn.deltas
            if (match := _ADDED.fullmatch(line)) and f"Object.{match.group(1)}" == thing
        ),
        None,
    )
    if words is None:
        return None
    known = [int(n) for n in _NUMBER.findall("\n".join(trace.entities))]
    known += [int(n) for turn in turns[:start] for n in _NUMBER.findall("\n".join(turn.deltas))]
    number = max(known) + 1
    support = int(rng.choice(list(trace.positions_m))) if trace.positions_m else known[0]
    name = f"Object.{number}"
    before = turns[start - 1]
    line = f"Add {name}: {words.split(' with the ')[0]} with the Object.{support}"
    told = before.model_copy(update={"deltas": (*before.deltas, line)})
    x, y = trace.positions_m.get(support, (0.0, 0.0))
    failed = f"{FAILURE_PREFIX}No object found near the target position {x}, {y}, 0.8"
    tries = [
        TraceTurn(call=f"Navigate[{name}]", result=SUCCESS_TEXT, others=before.others),
        TraceTurn(
            call=f"Pick[{name}]",
            result=failed,
            deltas=(f"Remove {name}",),
            others=before.others,
        ),
    ]
    rest = [_moved_up(turn, number) for turn in turns[start:]]
    return [*turns[: start - 1], told, *tries, *rest]


def _moved_up(turn: TraceTurn, number: int) -> TraceTurn:
    """The turn with entity numbers from `number` on one higher."""

    def up(text: str) -> str:
        return _NUMBER.sub(
            lambda m: f"Object.{int(m.group(1)) + (int(m.group(1)) >= number)}", text
        )

    return turn.model_copy(
        update={
            "call": up(turn.call),
            "deltas": tuple(up(line) for line in turn.deltas),
            "others": {agent: up(call) for agent, call in turn.others.items()},
        }
    )


def _with_turns(trace: Trace, turns: Sequence[TraceTurn], dropped: int = 0) -> Trace:
    more = trace.provenance.model_copy(update={"dropped": trace.provenance.dropped + dropped})
    return trace.model_copy(update={"turns": tuple(turns), "provenance": more})


_SEARCHING = frozenset({SkillName.NAVIGATE, SkillName.OPEN, SkillName.EXPLORE_FURNITURE})


def with_fewer_searches(trace: Trace, most: int) -> Trace:
    """The trace with at most so many calls in vain before each thing that is done.

    A small model learns little from them, and has to read them all. In vain are those that tell of
    nothing, and go to nothing, that is handled later or opened for that.
    """
    kept: list[TraceTurn] = []
    used: set[int] = set()
    vain = 0
    for turn in reversed(trace.turns):
        call = parse_call(turn.call)
        things = _numbers(turn.call)
        told = [*things, *(n for line in turn.deltas for n in _added(line))]
        if call.name not in _SEARCHING:
            # What they lie in may have to be opened first.
            used.update(things, (h for n in things if (h := _holder_of(n, trace.turns))))
            vain = 0
            kept.insert(0, turn)
            continue
        vain += used.isdisjoint(told)
        if vain > most and used.isdisjoint(told):
            continue
        if call.name != SkillName.NAVIGATE:
            # The way to what is opened or explored.
            used.update(things)
        kept.insert(0, turn)
    return _with_turns(trace, kept, dropped=len(trace.turns) - len(kept))


# Puts searches into recorded runs of those who knew where a thing was (EPM-2.7).
#
# A person, or a planner with full knowledge, goes straight to what the robot's memory has not seen.
# Before the first call for such a thing some likely furniture is explored where it is not, then the
# piece that holds it; what the memory noted of that furniture later is told then.

_LINE = re.compile(r"Object\.(\d+): (.*?)(?: in \S+)?")
_SEARCHES_ADDED = re.compile(r"Add Object\.(\d+)(?: \(picked\))?: (.*)")
_HOLDER = re.compile(r" with the Object\.(\d+)$")


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
    match = _SEARCHES_ADDED.fullmatch(line)
    return [int(match.group(1))] if match is not None else []


def _holder_of(number: int, turns: Sequence[TraceTurn]) -> int | None:
    """The furniture with which the memory added a thing; None = it never said."""
    for line in (line for turn in turns for line in turn.deltas):
        match, holder = _SEARCHES_ADDED.fullmatch(line), _HOLDER.search(line)
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
            if (match := _SEARCHES_ADDED.fullmatch(line)) and int(match.group(1)) == number
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
