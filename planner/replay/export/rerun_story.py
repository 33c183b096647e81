"""The task in Rerun: calls as states, texts, logs, and numbers over time."""

from __future__ import annotations

import math
from typing import Any

from planner.replay.export import rerun_paths
from planner.replay.export.rerun_stream import Recording
from planner.replay.export.source import Received, Source
from planner.replay.export.timeline import (
    EVALUATION,
    RESULTS,
    STATUS,
    TRACE,
    VERDICT,
    Call,
    Story,
)

UPDATES, ROSOUT = "/memory/updates", "/rosout"
_LEVELS = ((50, "CRITICAL"), (40, "ERROR"), (30, "WARN"), (20, "INFO"), (0, "DEBUG"))
_OPERATIONS = ("ADD", "UPDATE", "REMOVE")


class StoryLogger:
    """Logs the messages about the task."""

    TOPICS = (STATUS, TRACE, RESULTS, EVALUATION, VERDICT, UPDATES, ROSOUT)

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._texts: dict[str, str] = {}
        self._handlers = {
            STATUS: self._status,
            TRACE: self._trace,
            RESULTS: self._result,
            EVALUATION: self._evaluation,
            VERDICT: self._evaluation,
            UPDATES: self._memory,
            ROSOUT: self._node,
        }

    def add(self, message: Received) -> None:
        """Takes one message of `TOPICS`."""
        self._handlers[message.topic](message.content)

    def begin(self, story: Story) -> None:
        """Logs what is valid at all times: the episode's instruction, if no message has it."""
        import rerun as rr

        steps = rr.SeriesLines(interpolation_mode="StepAfter", names="percent complete")
        self._recording.log_static(rerun_paths.PROGRESS, steps)
        for at_s, text in story.instruction:
            if at_s == -math.inf:
                document = rr.TextDocument(text, media_type=rr.MediaType.TEXT)
                self._recording.log_static(rerun_paths.INSTRUCTION, document)

    def _status(self, content: Any) -> None:
        for path, text in (
            (rerun_paths.INSTRUCTION, content.instruction),
            (rerun_paths.PLAN, content.plan),
            (rerun_paths.QUESTION, content.question),
        ):
            self._text(path, str(text))

    def _trace(self, content: Any) -> None:
        agents = [str(agent) for agent in content.agents]
        calls = [str(call) for call in content.calls]
        parsed = "; ".join(f"{a}: {c}" for a, c in zip(agents, calls, strict=False))
        words = f"cycle {content.cycle}: {content.error or parsed or 'nothing new'}"
        self._log(rerun_paths.PLANNER_LOG, words, "WARN" if content.error else "INFO")
        self._text(rerun_paths.PROMPT, str(content.prompt))
        self._text(rerun_paths.REPLY, str(content.reply))
        for name in ("prompt_tokens", "cached_tokens", "reply_tokens"):
            self._number(f"{rerun_paths.TOKENS}/{name}", float(getattr(content, name)))
        for name in ("latency_s", "first_token_s"):
            self._number(f"{rerun_paths.SECONDS}/{name}", float(getattr(content, name)))

    def _result(self, content: Any) -> None:
        level = "INFO" if int(content.code) == 0 else "WARN"
        words = f"{content.agent}: {content.call}: {content.text}"
        self._log(rerun_paths.CALL_LOG, words, level)

    def _evaluation(self, content: Any) -> None:
        self._number(rerun_paths.PROGRESS, float(content.percent_complete))
        lines = [f"[{'x' if p.satisfied else ' '}] {p.text}" for p in content.propositions]
        status = ("running", "success", "failure")[min(int(content.status), 2)]
        explanation = f"\n\n{content.explanation}" if content.explanation else ""
        self._text(rerun_paths.JUDGE_TEXT, "\n".join([status, *lines]) + explanation)

    def _memory(self, content: Any) -> None:
        for operation in content.operations:
            kind = _OPERATIONS[min(int(operation.kind), len(_OPERATIONS) - 1)]
            entity = operation.entity
            words = f"{kind} {entity.id} {entity.name}: {entity.description}"
            self._log(rerun_paths.MEMORY_LOG, f"{words} ({content.source})", "INFO")

    def _node(self, content: Any) -> None:
        level = next(word for least, word in _LEVELS if int(content.level) >= least)
        self._log(rerun_paths.NODE_LOG, f"{content.name}: {content.msg}", level)

    def _text(self, path: str, text: str) -> None:
        import rerun as rr

        # Plain, so that no text of a bag is rendered as Markdown, with its links and pictures.
        if self._texts.get(path, "") != text:
            self._texts[path] = text
            self._recording.log(path, rr.TextDocument(text, media_type=rr.MediaType.TEXT))

    def _log(self, path: str, text: str, level: str) -> None:
        import rerun as rr

        self._recording.log(path, rr.TextLog(text, level=level))

    def _number(self, path: str, value: float) -> None:
        import rerun as rr

        if math.isfinite(value):
            self._recording.log(path, rr.Scalars([value]))


def log_calls(recording: Recording, source: Source, calls: tuple[Call, ...]) -> None:
    """Logs each agent's running call as a state: a lane of the time line."""
    import rerun as rr

    changes: dict[tuple[str, float], str] = {}
    for call in calls:
        if call.ended_s is not None:
            changes.setdefault((call.agent, call.ended_s), "")
        changes[call.agent, call.began_s] = call.call
    for (agent, at_s), state in sorted(changes.items(), key=lambda item: item[0][1]):
        world_ns = round(at_s * 1e9)
        recording.at_times(source.received_ns(world_ns), world_ns)
        recording.log(rerun_paths.call(agent), rr.StateChange(state=state))
