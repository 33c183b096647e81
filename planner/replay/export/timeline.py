"""The story of a bag over the world's time: instruction, plans, calls, results and progress.

The value at a time is the newest reported up to then; nothing is interpolated.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from planner.replay.export.source import Received, Source
from planner.world.memory_wire import duration_of

STATUS = "/instruct/status"
TRACE = "/planner/trace"
RESULTS = "/skills/results"
EVALUATION, VERDICT = "/evaluation", "/evaluation/result"
STORY = (STATUS, TRACE, RESULTS, EVALUATION, VERDICT)
_SUCCEEDED, _FAILED = 1, 2

ValueT = TypeVar("ValueT")


class Steps(Generic[ValueT]):
    """Values that are valid from a time until the next one; times in seconds, in any order."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._values: list[ValueT] = []

    def add(self, time_s: float, value: ValueT) -> None:
        """Adds a value; among equal times the last one added is valid."""
        at = bisect_right(self._times, time_s)
        self._times.insert(at, time_s)
        self._values.insert(at, value)

    def at(self, time_s: float) -> ValueT | None:
        """The value at a time; None before the first."""
        place = bisect_right(self._times, time_s)
        return self._values[place - 1] if place else None

    @property
    def span_s(self) -> tuple[float, float]:
        """The times of the first and the last value; must not be empty."""
        return self._times[0], self._times[-1]

    def __iter__(self) -> Iterator[tuple[float, ValueT]]:
        return iter(zip(self._times, self._values, strict=True))

    def __len__(self) -> int:
        return len(self._times)


@dataclass(frozen=True, slots=True)
class Call:
    """One skill call of one agent.

    Attributes:
        agent: namespace of the agent.
        call: such as `Pick[cup_1]`.
        began_s: when it began, on the world's clock.
        ended_s: when it ended; None if the bag ends before.
        code: number of the result's code, 0 = success; None if the bag ends before.
        text: the text of the result; "" if the bag ends before.
    """

    agent: str
    call: str
    began_s: float
    ended_s: float | None = None
    code: int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """What a bag reports besides pictures and motion.

    Attributes:
        instruction: the robots' task.
        plan: the running plan in words: as /instruct/status says, in older bags the planner's
            replies.
        calls: all of them, by their beginning.
        progress: the evaluator's percent complete, 0 to 1.
        verdict: whether the task succeeded; None if the bag has no verdict.
    """

    instruction: Steps[str]
    plan: Steps[str]
    calls: tuple[Call, ...]
    progress: Steps[float]
    verdict: bool | None

    def running(self, agent: str, time_s: float) -> Call | None:
        """The agent's call that is running at a time."""
        for call in reversed(self.calls):
            if call.agent == agent and call.began_s <= time_s:
                return None if call.ended_s is not None and call.ended_s <= time_s else call
        return None

    def result(self, agent: str, time_s: float) -> Call | None:
        """The agent's call that ended last before a time."""
        ended = [c for c in self.calls if c.agent == agent and (c.ended_s or math.inf) <= time_s]
        return max(ended, key=lambda call: call.ended_s or 0.0, default=None)


def read_story(source: Source) -> Story:
    """Reads the story.

    Raises:
        FileError: if the bag cannot be read.
    """
    draft = _Draft()
    for message in source.messages(STORY):
        source.dispatch(message, draft.add)
    if not len(draft.instruction) and source.instruction:
        draft.instruction.add(-math.inf, source.instruction)
    plan = draft.plans if len(draft.plans) else draft.replies
    return Story(draft.instruction, plan, draft.all_calls(), draft.progress, draft.verdict)


@dataclass(slots=True)
class _Draft:
    instruction: Steps[str] = field(default_factory=Steps)
    plans: Steps[str] = field(default_factory=Steps)
    replies: Steps[str] = field(default_factory=Steps)
    progress: Steps[float] = field(default_factory=Steps)
    verdict: bool | None = None
    # By agent: when the planner decided on each call.
    named: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    ended: list[tuple[float, Any]] = field(default_factory=list)

    def add(self, message: Received) -> None:
        at_s, content = message.world_s, message.content
        if message.topic == STATUS:
            self._add_status(at_s, content)
        elif message.topic == TRACE:
            if content.reply:
                self.replies.add(at_s, str(content.reply))
            if not content.error:
                self._name(at_s, content.agents, content.calls)
        elif message.topic == RESULTS:
            self.ended.append((at_s, content))
        else:
            self.progress.add(at_s, float(content.percent_complete))
            if message.topic == VERDICT and int(content.status) in (_SUCCEEDED, _FAILED):
                self.verdict = int(content.status) == _SUCCEEDED

    def _add_status(self, at_s: float, content: Any) -> None:
        if content.instruction and self.instruction.at(at_s) != content.instruction:
            self.instruction.add(at_s, str(content.instruction))
        if content.plan and self.plans.at(at_s) != content.plan:
            self.plans.add(at_s, str(content.plan))
        self._name(at_s, content.agents, content.calls)

    def _name(self, at_s: float, agents: list[str], calls: list[str]) -> None:
        for agent, call in zip(agents, calls, strict=False):
            if call:
                self.named.setdefault(str(agent), []).append((at_s, str(call)))

    def all_calls(self) -> tuple[Call, ...]:
        """All calls that ended, and each agent's call that was running when the bag ended."""
        free_s: dict[str, float] = {}
        calls = []
        for ended_s, content in sorted(self.ended, key=lambda pair: pair[0]):
            agent, call = str(content.agent), str(content.call)
            began_s = self._began_s(content, ended_s, free_s.get(agent))
            calls.append(Call(agent, call, began_s, ended_s, int(content.code), str(content.text)))
            free_s[agent] = ended_s
        for agent, named in self.named.items():
            later = sorted(n for n in named if n[0] >= free_s.get(agent, -math.inf))
            # A call that the planner repeats while it runs is the same call; the last one is
            # running.
            if later and self.verdict is None and not _is_last(later[-1], calls):
                first_s = min(at_s for at_s, call in later if call == later[-1][1])
                calls.append(Call(agent, later[-1][1], first_s))
        return tuple(sorted(calls, key=lambda call: (call.began_s, call.agent)))

    def _began_s(self, content: Any, ended_s: float, free_s: float | None) -> float:
        """From the result's duration, else the planner's decision, else when the agent was idle."""
        earliest_s = -math.inf if free_s is None else free_s
        took_s = duration_of(content)
        if took_s is not None:
            return max(ended_s - took_s, earliest_s)
        named = sorted(self.named.get(str(content.agent), ()))
        since = named[bisect_left(named, (earliest_s, "")) :]
        for at_s, call in since:
            if call == content.call and at_s <= ended_s:
                return at_s
        return ended_s if free_s is None else free_s


def _is_last(named: tuple[float, str], calls: list[Call]) -> bool:
    """Whether the decision belongs to a call that ended at that very time."""
    return any(c.ended_s == named[0] and c.call == named[1] for c in calls)
