"""The story of a run, from the topics that report it."""

from __future__ import annotations

from collections.abc import Callable

from planner_msgs.msg import (
    Evaluation,
    InstructStatus,
    MemoryUpdate,
    Operation,
    SkillReport,
    WorldGraph,
)
from pydantic import JsonValue
from rclpy.node import Node

from planner.evaluation.as_understood import read_understood
from planner.grounding.records import request_words
from planner.narrator import story
from planner.narrator.story import Event, Kind
from planner.ros import qos
from planner.ros.subscriptions import listen, reader
from planner.world import topics
from planner.world.memory_wire import stamp_seconds
from planner.world.topics import InstructState
from planner.world.wire import graph_record


class StorySubscriber:
    """Turns what is seen, decided, done and evaluated into events."""

    def __init__(self, node: Node, emit: Callable[[Event], None]) -> None:
        """Subscribes; `emit` gets each event."""
        self._emit = emit
        self._since = story.StoryClock().since
        self._now_s = 0.0
        # Objects found but not yet located by a graph: name and time.
        self._found: dict[str, float] = {}
        self._progress = (-1.0, -1)
        self._goal_id = ""
        self._standing: InstructStatus | None = None
        self._calls: dict[str, str] = {}
        self._plan = ""
        listen(node, MemoryUpdate, topics.MEMORY_UPDATES, self._on_memory, qos.EVENTS)
        self._read_graph = reader(node, WorldGraph, topics.WORLD_GRAPH)
        node.create_subscription(
            WorldGraph, topics.WORLD_GRAPH, self._on_graph, qos.STATE_INPUT, raw=True
        )
        listen(node, SkillReport, topics.SKILL_RESULTS, self._on_skill, qos.EVENTS)
        listen(node, Evaluation, topics.EVALUATION, self._on_progress, qos.EVENTS)
        listen(node, InstructStatus, topics.INSTRUCT_STATUS, self._on_status, qos.EVENTS_FROM_START)

    @property
    def now_s(self) -> float:
        """The story's time: that of the newest message."""
        return self._now_s

    @property
    def standing(self) -> InstructStatus | None:
        """State of the followed instruction; None before the first message about it."""
        return self._standing

    def follow(self, goal_id: str) -> None:
        """Reports only the instruction with this id."""
        self._goal_id, self._standing = goal_id, None
        self._calls.clear()
        self._plan = ""

    def at(self, stamp_s: float) -> float:
        """The story's time, given a new stamp of the world's clock.

        Late messages do not turn it back.
        """
        self._now_s = max(self._now_s, self._since(stamp_s))
        return self._now_s

    def forget(self) -> None:
        """Drops everything: the world was reset, so earlier events are no part of the run."""
        self._found.clear()
        self._progress = (-1.0, -1)
        self._now_s = 0.0

    def _on_memory(self, message: MemoryUpdate) -> None:
        stamp_s = stamp_seconds(message.header.stamp)
        self._found |= {
            operation.entity.name: stamp_s
            for operation in message.operations
            if operation.kind == Operation.ADD and not operation.entity.is_furniture
        }

    def _on_graph(self, data: bytes) -> None:
        """Reports where new objects are; graphs are frequent and parsed only for that."""
        if not self._found:
            return
        message = self._read_graph(data)
        if message is None:
            return
        nodes = graph_record(message).nodes
        known = {name: stamp_s for name, stamp_s in self._found.items() if name in nodes}
        sights = [story.Sighting.of(nodes[name], nodes) for name in known]
        for event in story.seen_events(self.at(max(known.values(), default=0.0)), sights):
            self._emit(event)
        for name in known:
            del self._found[name]

    def _on_skill(self, message: SkillReport) -> None:
        stamp_s = self.at(stamp_seconds(message.header.stamp))
        agent, call, code, text = message.agent, message.call, int(message.code), message.text
        line = story.ended_line(stamp_s, agent, call, code, text)
        fields = {"agent": agent, "call": call, "code": code, "text": text}
        self._emit(Event(Kind.ENDED, stamp_s, line, fields))

    def _on_progress(self, message: Evaluation) -> None:
        satisfied = sum(1 for p in message.propositions if p.satisfied)
        percent, total = round(float(message.percent_complete), 4), len(message.propositions)
        if not total or (percent, satisfied) == self._progress or not self._is_judged:
            return
        self._progress = (percent, satisfied)
        stamp_s = self.at(stamp_seconds(message.header.stamp))
        line = story.progress_line(stamp_s, percent, satisfied, total)
        fields = {"percent_complete": percent, "satisfied": satisfied, "propositions": total}
        self._emit(Event(Kind.JUDGED, stamp_s, line, fields))

    @property
    def _is_judged(self) -> bool:
        """Whether the evaluator's goal is that of the followed instruction."""
        return self._standing is not None and bool(self._standing.goal)

    def _on_status(self, message: InstructStatus) -> None:
        if message.id != self._goal_id or not self._goal_id:
            return
        before, self._standing = self._standing, message
        stamp_s = self.at(stamp_seconds(message.header.stamp))
        if before is None or (before.state, before.agents) != (message.state, message.agents):
            state = InstructState(message.state).name.lower()
            fields: dict[str, JsonValue] = {
                "state": state,
                "agents": [str(agent) for agent in message.agents],
                "has_goal": bool(message.goal),
            }
            self._emit(Event(Kind.STATE, stamp_s, "", fields))
        if before is None or before.goal != message.goal:
            self._emit_understood(stamp_s, str(message.goal))
        if message.state == InstructStatus.WAITING and message.question:
            if before is None or before.question != message.question:
                line = story.question_line(stamp_s, message.question)
                self._emit(Event(Kind.QUESTION, stamp_s, line, {"question": message.question}))
        elif message.state == InstructStatus.RUNNING:
            self._emit_decisions(stamp_s, message)

    def _emit_understood(self, stamp_s: float, goal: str) -> None:
        found = read_understood(goal)
        if found is not None:
            said = [request_words(request) for request in found.goal.requests]
            line = story.understood_line(stamp_s, said)
            self._emit(Event(Kind.UNDERSTOOD, stamp_s, line, {"requests": [*said]}))

    def _emit_decisions(self, stamp_s: float, message: InstructStatus) -> None:
        pairs = list(zip(message.agents, message.calls, strict=False))
        new = [(agent, call) for agent, call in pairs if call and self._calls.get(agent) != call]
        reasons = {agent: story.reason_of(message.plan, agent, call) for agent, call in new}
        shown = any(reasons.values()) or story.has_only_calls(message.plan, dict(pairs))
        if message.plan not in ("", self._plan) and not shown:
            line = story.reason_line(stamp_s, message.plan)
            self._emit(Event(Kind.PLAN, stamp_s, line, {"plan": message.plan}))
        self._plan = message.plan
        for agent, call in new:
            line = story.decided_line(stamp_s, agent, call, reasons[agent])
            said = {"agent": agent, "call": call, "reason": reasons[agent]}
            self._emit(Event(Kind.BEGINS, stamp_s, line, said))
        self._calls.update(pairs)
