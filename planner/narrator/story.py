"""The story of a run, line by line, for people."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue

from planner.world.belief import BeliefNode
from planner.world.skill import SUCCESS_TEXT
from planner.world.topics import one_line
from planner.world.vocabulary import Relation, holding_hand_words

_BAR_CELLS = 20
_MAX_REASON_CHARS = 240


class Kind(StrEnum):
    """Kinds of events."""

    STATE = "state"
    UNDERSTOOD = "understood"
    PLAN = "plan"
    BEGINS = "begins"
    ENDED = "ended"
    SAW = "saw"
    JUDGED = "judged"
    QUESTION = "question"
    ANSWER = "answer"
    VERDICT = "verdict"
    END = "end"


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        stamp_s: the story's time.
        line: for people.
        fields: for programs.
    """

    kind: Kind
    stamp_s: float
    line: str
    fields: Mapping[str, JsonValue] = field(default_factory=dict)

    def as_json(self) -> str:
        """One line of JSON."""
        stamp_s = round(self.stamp_s, 3) if math.isfinite(self.stamp_s) else None
        return json.dumps({"kind": str(self.kind), "stamp_s": stamp_s, **self.fields})


# Larger stamps are wall-clock time, as in a real world; simulated time begins at 0.
TIME_OF_DAY_S = 1e9


class StoryClock:
    """The story's time: simulated time, or seconds since the first event in a real world."""

    def __init__(self) -> None:
        self._zero_s: float | None = None

    def since(self, stamp_s: float) -> float:
        """The story's time of a stamp; 0 for stamps before the first event."""
        if self._zero_s is None and stamp_s > 0:
            self._zero_s = stamp_s if stamp_s > TIME_OF_DAY_S else 0.0
        return max(0.0, stamp_s - (self._zero_s or 0.0))


def clock(stamp_s: float) -> str:
    """Simulated time as minutes and seconds."""
    return f"{int(stamp_s) // 60:02d}:{int(stamp_s) % 60:02d}"


_RELATION_WORDS = {Relation.ON: "on", Relation.WITHIN: "in"}


@dataclass(frozen=True, slots=True)
class Sighting:
    """An object just found: its name, what it rests on or who holds it, and the room; "" = unknown.

    `hand` is that of a holder with more than one, in words.
    """

    name: str
    relation: Relation | None
    parent: str
    room: str
    hand: str = ""

    @classmethod
    def of(cls, node: BeliefNode, nodes: Mapping[str, BeliefNode]) -> Sighting:
        """The sighting of an object in a belief."""
        holder = nodes.get(node.parent or "")
        hand = holding_hand_words(holder.hands, node.name) if holder is not None else ""
        return cls(node.name, node.relation, node.parent or "", node.room or "", hand)

    def __str__(self) -> str:
        if self.relation is None or not self.parent:
            return self.name
        if self.parent.startswith("floor_"):
            return f"{self.name} on the floor"
        if self.relation is Relation.HELD:
            return f"{self.name} in {self.hand or 'the hand'} of {self.parent}"
        return f"{self.name} {_RELATION_WORDS[self.relation]} {self.parent}"


def seen_events(stamp_s: float, found: Sequence[Sighting]) -> list[Event]:
    """One event for each room in which something was found."""
    rooms: dict[str, list[Sighting]] = {}
    for sight in found:
        rooms.setdefault(sight.room, []).append(sight)
    return [
        Event(
            Kind.SAW,
            stamp_s,
            f"{clock(stamp_s)}  {room or 'an unknown room'}: saw {', '.join(map(str, sights))}",
            {"room": room, "things": [sight.name for sight in sights]},
        )
        for room, sights in rooms.items()
    ]


def reason_line(stamp_s: float, plan: str) -> str:
    """Why the planner decided as it did, shortened."""
    words = one_line(plan)
    cut = (
        words
        if len(words) <= _MAX_REASON_CHARS
        else words[:_MAX_REASON_CHARS].rsplit(" ", 1)[0] + " ..."
    )
    return f"{clock(stamp_s)}  plan:    {cut}"


def reason_of(plan: str, agent: str, call: str) -> str:
    """The reason for a call in a plan of the form "AGENT: REASON: CALL; ..."; "" without one."""
    for part in plan.split("; "):
        whole = part.startswith(f"{agent}: ") and part.endswith(f": {call}")
        if whole and part != f"{agent}: {call}":
            return part.removeprefix(f"{agent}: ").removesuffix(f": {call}")
    return ""


def has_only_calls(plan: str, calls: Mapping[str, str]) -> bool:
    """Whether a plan contains only the calls, which are printed anyway."""
    return all(part in {f"{a}: {c}" for a, c in calls.items()} for part in plan.split("; "))


def decided_line(stamp_s: float, agent: str, call: str, reason: str = "") -> str:
    """What an agent starts to do, and why."""
    why = f"  to {reason}" if reason else ""
    return f"{clock(stamp_s)}  {agent}  begins  {call}{why}"


def moving_line(stamp_s: float, agent: str) -> str:
    """The first motion of an agent."""
    return f"{clock(stamp_s)}  {agent}  is moving"


def ended_line(stamp_s: float, agent: str, call: str, code: int, text: str) -> str:
    """How a call ended: the reason of a failure, or what a success says besides, such as a hand."""
    if code == 0:
        more = one_line(text.removeprefix(SUCCESS_TEXT)) if text.startswith(SUCCESS_TEXT) else ""
        return f"{clock(stamp_s)}  {agent}  did     {call}{': ' if more else ''}{more}"
    return f"{clock(stamp_s)}  {agent}  FAILED  {call}: {one_line(text)}"


def progress_line(stamp_s: float, percent_complete: float, satisfied: int, total: int) -> str:
    """The evaluator's progress as a bar."""
    filled = round(percent_complete * _BAR_CELLS)
    bar = "#" * filled + "." * (_BAR_CELLS - filled)
    return f"{clock(stamp_s)}  judge    [{bar}] {satisfied} of {total} parts of the task hold"


def understood_line(stamp_s: float, requests: Sequence[str]) -> str:
    """What the planner has understood of an instruction in words."""
    return f"{clock(stamp_s)}  understood: {one_line('; '.join(requests))}"


def question_line(stamp_s: float, question: str) -> str:
    """A question from the planner to the person."""
    return f"{clock(stamp_s)}  question: {one_line(question)}"


def answer_line(stamp_s: float, answer: str) -> str:
    """The person's answer to a question."""
    return f"{clock(stamp_s)}  answer:   {one_line(answer)}"


def outcome_line(name: str, text: str) -> str:
    """How an instruction ended: the name of its code, and the text, which may begin with it."""
    said = one_line(text)
    return said if said.startswith(f"{name.lower()}: ") else f"{name}: {said}"


def no_verdict_line(outcome: str, places: Mapping[str, str]) -> str:
    """The last line of a run without a goal; `outcome` is from `outcome_line`."""
    return f"verdict: none (no goal to judge by)  planner: {outcome}{_paths(places)}"


def _paths(places: Mapping[str, str]) -> str:
    return "".join(f"  {name}: {path}" for name, path in places.items() if path)


def verdict_line(
    success: bool,
    percent_complete: float,
    sim_steps: int,
    places: Mapping[str, str],
    *,
    understood: bool = False,
) -> str:
    """The last line: the verdict, its figures and the paths of all output.

    `understood`: judged by what the planner understood, instead of by the goal of an episode.
    """
    word = ("success" if success else "failure") + (" (as understood)" if understood else "")
    return (
        f"verdict: {word}  percent_complete: {percent_complete:.2f}  sim_steps: {sim_steps}"
        f"{_paths(places)}"
    )
