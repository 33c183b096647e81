"""The state of the page, from the messages of a running stack or of a bag; knows no ROS."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from planner.console import facts
from planner.console.explored import explored
from planner.console.shared_work import ChangingCall, changing_call, doers, offloaded
from planner.console.table import Entries, Json, Table
from planner.console.trails import Trail
from planner.models.price_table import PriceTable
from planner.replay.report.floor_plan import floor_plan_of
from planner.world import topics
from planner.world.errors import FileError, PlannerError
from planner.world.house_text import parse_house
from planner.world.memory_wire import stamp_seconds

# Rows that are kept of each list.
MAX_CALLS, MAX_TRACES, MAX_LOG = 200, 200, 200
_OF_AGENT = re.compile(r"([A-Za-z][A-Za-z0-9_]*)/(.+)")
_CLOCK_STEP_S = 0.5

# Topics of the stack and of each agent, relative to the namespace.
SHARED_TOPICS = (
    topics.WORLD_INFO,
    topics.WORLD_STATE,
    topics.WORLD_GRAPH,
    topics.MAP,
    topics.INSTRUCT_STATUS,
    topics.EVALUATION,
    topics.EVALUATION_RESULT,
    topics.SKILL_RESULTS,
    topics.PLANNER_TRACE,
    topics.MEMORY_TRACE,
    topics.SKILLS_TRACE,
    topics.DIAGNOSTICS.lstrip("/"),
)
AGENT_TOPICS = (topics.QUESTION, topics.SAFETY_STATE, topics.MOTION_ALLOWED)
# Sections of the table that messages fill; `log` is what persons did at the console.
_FROM_MESSAGES = (
    *("world", "truth", "belief", "trails", "instruct", "judge", "calls"),
    *("traces", "models", "health", "questions", "agents", "explored"),
)


@dataclass(slots=True)
class _Folded:
    """What a view remembers of messages besides the table's entries."""

    agents: tuple[str, ...]
    sequence: int | None
    trails: dict[str, Trail]
    rows: dict[str, int]
    traces: OrderedDict[str, dict[str, Json]]
    used: dict[str, dict[str, float]]
    unreadable: int
    house: str
    has_truth: bool
    # When each part of the task began to count, on the world's clock, and the calls that may have
    # made it so.
    since_s: dict[str, float]
    changing: list[ChangingCall]

    def copied(self) -> _Folded:
        """One that the next message does not change."""
        return _Folded(
            self.agents,
            self.sequence,
            {agent: Trail([*trail.pieces], trail.first) for agent, trail in self.trails.items()},
            dict(self.rows),
            self.traces.copy(),
            {model: dict(used) for model, used in self.used.items()},
            self.unreadable,
            self.house,
            self.has_truth,
            dict(self.since_s),
            [*self.changing],
        )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A view at a moment; only a view reads it."""

    entries: Entries
    folded: _Folded


class View:
    """Folds messages into a table; one thread at a time.

    Attributes:
        table: what the page shows.
        on_judgement: called with each judgement, in the thread that took it.
    """

    def __init__(self, table: Table, prices: PriceTable | None = None) -> None:
        """Starts with an empty page; without prices no cost is shown."""
        self.table, self._prices = table, prices
        if prices is not None:
            table.set("prices", "currency", prices.currency)
        self.on_judgement: Callable[[Mapping[str, Json]], None] = lambda _: None
        self._takers: Mapping[str, Callable[[Any], None]] = {
            topics.WORLD_INFO: self._on_info,
            topics.WORLD_STATE: self._on_state,
            topics.WORLD_GRAPH: self._on_graph,
            topics.MAP: self._on_map,
            topics.INSTRUCT_STATUS: self._on_instruction,
            topics.EVALUATION: self._on_judgement,
            topics.EVALUATION_RESULT: self._on_judgement,
            topics.SKILL_RESULTS: self._on_skill,
            topics.PLANNER_TRACE: self._on_trace,
            topics.MEMORY_TRACE: self._on_trace,
            topics.SKILLS_TRACE: self._on_trace,
            topics.DIAGNOSTICS.lstrip("/"): self._on_diagnostics,
        }
        self._of_agents: Mapping[str, Callable[[str, Any], None]] = {
            topics.QUESTION: self._on_question,
            topics.SAFETY_STATE: self._on_safety,
            topics.MOTION_ALLOWED: self._on_allowed,
        }
        rows = {"calls": 0, "traces": 0, "log": 0}
        self._folded = _Folded((), None, {}, rows, OrderedDict(), {}, 0, "", False, {}, [])

    @property
    def agents(self) -> tuple[str, ...]:
        """Of the world, in its order."""
        return self._folded.agents

    @property
    def has_truth(self) -> bool:
        """Whether there is a true world, as in a simulator."""
        return self._folded.has_truth

    @property
    def is_running(self) -> bool:
        """Whether an instruction runs; one that ended with a question has its result as text."""
        now = self.table.get("instruct", "now")
        if not isinstance(now, dict):
            return False
        return now["state"] == "running" or (now["state"] == "waiting" and not now["text"])

    def has_ended(self, goal: str) -> bool:
        """Whether the page shows the end of the instruction with this id of its goal."""
        now = self.table.get("instruct", "now")
        return isinstance(now, dict) and now["id"] == goal and not self.is_running

    def snapshot(self) -> Snapshot:
        """What the messages so far have made of it."""
        return Snapshot(self.table.entries(_FROM_MESSAGES), self._folded.copied())

    def restore(self, found: Snapshot) -> None:
        """Goes back, or forth, to a snapshot of it."""
        self.table.restore(_FROM_MESSAGES, found.entries)
        self._folded = found.folded.copied()

    def take(self, topic: str, content: Any) -> None:
        """Takes a message; one that cannot be read is counted and changes nothing else.

        Args:
            topic: relative to the stack's namespace.
            content: a message of ROS or of a bag.
        """
        name = topic.lstrip("/")
        try:
            if name in self._takers:
                self._takers[name](content)
            elif (found := _OF_AGENT.fullmatch(name)) and found[2] in self._of_agents:
                self._of_agents[found[2]](found[1], content)
        except facts.MALFORMED as error:
            self._folded.unreadable += 1
            words = f"{self._folded.unreadable} messages could not be read, the last one on {name}"
            self._warn("console", f"{words}: {facts.text(error, 200)}", level="error")

    def _warn(self, what: str, message: str, level: str = "warning") -> None:
        """Adds a line to the health of the stack."""
        text = facts.text(message)
        line: dict[str, Json] = {"level": level, "message": text, "hardware": "", "values": {}}
        self.table.set("health", what, line)

    def trace(self, key: str) -> dict[str, Json] | None:
        """Prompt and reply of a model call; None if it is no longer kept."""
        return self._folded.traces.get(key)

    def say(self, who: str, text: str, *, good: bool = True) -> None:
        """Adds a line to the page's log of what persons did."""
        self._row("log", {"who": who, "text": facts.text(text), "good": good}, MAX_LOG)

    # The world

    def _on_info(self, message: Any) -> None:
        self._folded.agents = tuple(facts.text(agent, 100) for agent in message.agents)
        for section in ("truth", "trails", "explored"):
            self.table.clear(section)
        self._folded.sequence = None
        self._folded.trails.clear()
        self.table.set(
            "world",
            "info",
            {
                "backend": facts.text(message.backend, 100),
                "simulated": bool(message.simulated),
                "house": facts.text(message.house, 200),
                "episode": facts.text(message.episode_id, 200),
                "task": facts.task_of(str(getattr(message, "episode_json", ""))),
                "agents": list(self.agents),
                "bodies": facts.texts(message.bodies),
                "version": facts.text(message.version, 100),
            },
        )
        self._draw_house(str(message.house_json))

    def _draw_house(self, text: str) -> None:
        if text == self._folded.house:
            return
        self._folded.house = text
        self.table.drop("world", "plan")
        self.table.drop("health", "house")
        if not text:
            return
        try:
            plan = floor_plan_of(parse_house(text, "house_json"))
        except (PlannerError, *facts.MALFORMED) as error:
            # A world of another kind, such as a scene graph, or a house that cannot be: its boxes
            # are drawn without walls.
            if isinstance(error, FileError) and error.field == "version":
                self._warn("house", f"drawn without walls: {error}")
            return
        self.table.set("world", "plan", asdict(plan))

    def _on_state(self, message: Any) -> None:
        sequence = int(message.sequence)
        if message.keyframe:
            names = {str(entity.name) for entity in message.entities}
            for name in self.table.section("truth"):
                if name not in names:
                    self.table.drop("truth", name)
        elif self._folded.sequence is None or sequence != self._folded.sequence + 1:
            # Changes of a state that is unknown: the next keyframe has everything.
            self._folded.sequence = None
            return
        self._folded.sequence = sequence
        for entity in message.entities:
            found = facts.true_entity(entity)
            name = facts.text(entity.name, 200)
            self.table.set("truth", name, found)
            if found["kind"] == "agent":
                self._folded.has_truth = True
                self._went(name, found)
        for name in message.removed:
            self.table.drop("truth", str(name))
        self._now(stamp_seconds(message.header.stamp))

    def _on_graph(self, message: Any) -> None:
        nodes = facts.believed_nodes(message)
        for name in self.table.section("belief"):
            if name not in nodes:
                self.table.drop("belief", name)
        for name, node in nodes.items():
            self.table.set("belief", name, node)
            if node["kind"] == "agent" and not self._folded.has_truth:
                self._went(name, node)
        self._now(stamp_seconds(message.header.stamp))

    def _on_map(self, message: Any) -> None:
        self.table.set("explored", "map", explored(message))

    def _went(self, agent: str, found: Mapping[str, Json]) -> None:
        x, y = found["x"], found["y"]
        if not isinstance(x, float) or not isinstance(y, float):
            return
        trail = self._folded.trails.setdefault(agent, Trail())
        if trail.add(x, y):
            self.table.set("trails", f"{agent}/{trail.newest}", trail.pieces[-1])
            self.table.drop("trails", f"{agent}/{trail.first - 1}")

    def _now(self, stamp_s: float) -> None:
        self.table.set("world", "clock", stamp_s // _CLOCK_STEP_S * _CLOCK_STEP_S)

    # The task

    def _on_instruction(self, message: Any) -> None:
        self.table.set("instruct", "now", facts.instruction(message))

    def _on_judgement(self, message: Any) -> None:
        found = facts.judgement(message)
        self.table.set("judge", "now", found)
        now_s, since_s = stamp_seconds(message.header.stamp), self._folded.since_s
        counting = {
            f"{i} {part.text}" for i, part in enumerate(message.propositions) if part.satisfied
        }
        self._folded.since_s = {words: since_s.get(words, now_s) for words in counting}
        self._share_work()
        self.on_judgement(found)

    def _on_skill(self, message: Any) -> None:
        row = facts.skill_report(message)
        self._row("calls", row, MAX_CALLS)
        if call := changing_call(row):
            # Earlier ones of a world that began anew are of another try.
            later = [each for each in self._folded.changing if each.ended_s <= call.ended_s]
            self._folded.changing = [*later, call][-MAX_CALLS:]
            self._share_work()

    def _share_work(self) -> None:
        done = doers(self._folded.since_s, self._folded.changing)
        now = self.table.get("instruct", "now")
        robots = now["agents"] if isinstance(now, dict) else ()
        names = [str(name) for name in robots] if isinstance(robots, list) else []
        work: dict[str, Json] = {
            "done": dict(done),
            "offloaded": offloaded(done, names, self.agents),
        }
        self.table.set("judge", "work", work)

    def _on_trace(self, message: Any) -> None:
        row = facts.trace_row(message)
        key = self._row("traces", row, MAX_TRACES)
        self._folded.traces[key] = facts.trace_texts(message)
        while len(self._folded.traces) > MAX_TRACES:
            self._folded.traces.popitem(last=False)
        if not row["asked"]:
            return
        used = self._folded.used.setdefault(f"{row['role']} {row['model']}", {})
        for name in ("prompt_tokens", "cached_tokens", "reply_tokens"):
            used[name] = used.get(name, 0) + int(getattr(message, name))
        used["calls"] = used.get("calls", 0) + 1
        cost = None
        if self._prices is not None:
            cost = self._prices.cost(
                str(message.model),
                int(message.prompt_tokens),
                int(message.cached_tokens),
                int(message.reply_tokens),
            )
        if cost is not None:
            used["cost"] = used.get("cost", 0.0) + cost
        used["refused"] = used.get("refused", 0) + bool(row["error"])
        used["seconds"] = used.get("seconds", 0.0) + (facts.number(message.latency_s) or 0.0)
        self.table.set("models", f"{row['role']} {row['model']}".strip(), dict(used))

    def _row(self, section: str, row: Mapping[str, Json], limit: int) -> str:
        self._folded.rows[section] += 1
        key = str(self._folded.rows[section])
        self.table.set(section, key, row)
        self.table.drop(section, str(self._folded.rows[section] - limit))
        return key

    # Health and safety

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            self.table.set("health", facts.text(status.name, 200), facts.status(status))

    def _on_question(self, agent: str, message: Any) -> None:
        if message.question_id:
            self.table.set("questions", agent, facts.question(message))
        else:
            self.table.drop("questions", agent)

    def _on_safety(self, agent: str, message: Any) -> None:
        self.table.set("agents", f"{agent}/safety", facts.status(message))

    def _on_allowed(self, agent: str, message: Any) -> None:
        self.table.set("agents", f"{agent}/may_move", bool(message.data))
