"""Whose calls did which parts of the task, while it goes on (PARTNR-D60).

The report credits by simulation steps and by what each call can change; here only what topics say
is known: when a part began to count, and which calls of whom ended. `planner evaluate` has the
figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from planner.console.table import Json
from planner.evaluation.metrics.measure import EFFECTIVE, OPENINGS
from planner.parts.calls import parse_call
from planner.world.skill import CallError

_CHANGING = EFFECTIVE | OPENINGS


@dataclass(frozen=True, slots=True)
class ChangingCall:
    """A successful call that can make a part of a task true.

    Attributes:
        agent: whose.
        about: the first argument: what was placed or changed.
        began_s: on the world's clock.
        ended_s: on the world's clock.
    """

    agent: str
    about: str
    began_s: float
    ended_s: float


def changing_call(row: Mapping[str, Json]) -> ChangingCall | None:
    """The call of a skill's report; None if it failed or can make nothing true."""
    took_s, ended_s = row["took"], row["at"]
    if row["code"] or not isinstance(ended_s, float):
        return None
    try:
        call = parse_call(str(row["call"]))
    except CallError:
        return None
    if call.name not in _CHANGING or not call.arguments:
        return None
    began_s = ended_s - (took_s if isinstance(took_s, float) else 0.0)
    return ChangingCall(str(row["agent"]), str(call.arguments[0]), began_s, ended_s)


def doers(since_s: Mapping[str, float], calls: Sequence[ChangingCall]) -> Counter[str]:
    """How many parts each agent did.

    A part is of the call about something that its words name: of the one that was under way when
    the part began to count, else of the last one before.

    Args:
        since_s: when each part, by its words, began to count; world's clock.
        calls: in the order in which they ended.
    """
    found: Counter[str] = Counter()
    for words, at_s in since_s.items():
        named = {word.strip(".,()") for word in words.split()}
        able = [call for call in calls if call.about in named]
        under_way = [call for call in able if call.began_s <= at_s <= call.ended_s]
        before = [call for call in able if call.ended_s <= at_s]
        if doing := under_way or before:
            found[doing[-1].agent] += 1
    return found


def offloaded(done: Mapping[str, int], robots: Collection[str], agents: Collection[str]) -> Json:
    """Share of the parts that robots did; None without person, robot or part (PARTNR-D61)."""
    persons = [agent for agent in agents if agent not in robots]
    whole = sum(done.values())
    if not persons or not robots or not whole:
        return None
    return sum(done.get(agent, 0) for agent in robots) / whole
