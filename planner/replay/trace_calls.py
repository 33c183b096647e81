"""Calls and decisions of a bag, for a trace."""

from __future__ import annotations

from typing import Any

from planner.evaluation.trace_builder import DecisionRecord, TraceBuilder
from planner.replay.bag import Bag
from planner.replay.fields import fields_of
from planner.world.errors import FileError
from planner.world.memory_wire import stamp_seconds
from planner.world.skill import SkillCode, SkillResult

RESULTS = "/skills/results"
DECISIONS = "/planner/trace"


def add_calls(builder: TraceBuilder, bag: Bag, first_s: float, last_s: float) -> None:
    """Adds the calls and decisions between two stamps to a trace.

    A call starts when the planner's reply with it arrived; a call without a reply, such as a
    person's, when the agent became idle.

    Raises:
        FileError: if the bag cannot be read or has an invalid result.
    """
    answers: dict[tuple[str, str], list[float]] = {}
    for message in bag.messages((RESULTS, DECISIONS)):
        content = message.content
        with fields_of(bag.folder, message.topic):
            stamp_s = stamp_seconds(content.header.stamp)
            if not first_s <= stamp_s <= last_s + 1e-6:
                continue
            if message.topic == RESULTS:
                agent, call = str(content.agent), str(content.call)
                code, text = int(content.code), str(content.text)
            else:
                builder.add_decision(_decided(stamp_s, content))
                for agent, call in zip(content.agents, content.calls, strict=False):
                    answers.setdefault((agent, call), []).append(stamp_s)
                continue
        try:
            result = SkillResult(SkillCode(code), text)
        except ValueError as error:
            raise FileError(bag.folder, RESULTS, str(error)) from None
        began = [s for s in answers.get((agent, call), ()) if s <= stamp_s]
        builder.add_call(agent, call, result, stamp_s, began[-1] if began else None)


def _decided(stamp_s: float, content: Any) -> DecisionRecord:
    return DecisionRecord(
        stamp_s,
        str(content.planner),
        tuple(str(agent) for agent in content.agents),
        int(content.cycle),
        str(content.model),
        int(content.prompt_tokens),
        int(content.reply_tokens),
        str(content.error),
    )
