"""The state of the page, from the messages of a running stack or of a bag; knows no ROS."""

from __future__ import annotations

import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.console import facts
from planner.console.facts import Entries, Json, Table
from planner.evaluation.metrics.metric import EFFECTIVE, OPENINGS
from planner.models.ledger import PriceTable
from planner.parts.calls import parse_call
from planner.replay.report.floor_plan import floor_plan_of
from planner.world import topics
from planner.world.episode import parse_house
from planner.world.errors import FileError, PlannerError
from planner.world.memory_wire import stamp_seconds
from planner.world.skill import CallError

# The ways that agents went, in pieces, so that a longer way is a small change.

# Metres between two points, points in a piece, pieces that are kept of each agent.
STEP_M, PIECE_POINTS, MAX_PIECES = 0.1, 40, 50


@dataclass(slots=True)
class Trail:
    """The way of one agent; each piece begins where the one before it ended."""

    pieces: list[list[list[float]]] = field(default_factory=list)
    first: int = 0

    def add(self, x_m: float, y_m: float) -> bool:
        """Adds a position; returns whether it is far enough from the last one to count."""
        point = [round(x_m, 2), round(y_m, 2)]
        if not self.pieces:
            self.pieces.append([point])
            return True
        last = self.pieces[-1]
        if math.dist(last[-1], point) < STEP_M:
            return False
        if len(last) >= PIECE_POINTS:
            self.pieces.append([last[-1]])
            if len(self.pieces) > MAX_PIECES:
                self.pieces.pop(0)
                self.first += 1
        # A new list, as the page's table keeps the old one.
        self.pieces[-1] = [*self.pieces[-1], point]
        return True

    @property
    def newest(self) -> int:
        """The number of the newest piece."""
        return self.first + len(self.pieces) - 1


# What of the floor is known, small enough for the page.

# Cells of the page's grid, at most, along the longer side.
MAX_CELLS = 160


def explored(message: Any) -> dict[str, Json]:
    """The unknown cells of a nav_msgs/OccupancyGrid as runs in rows.

    Returns:
        `runs`: (row, first column, columns) of unknown cells, with `cell` metres a side, from
        the lower left corner `x`, `y` of the map.

    Raises:
        ValueError: if the grid has another size than it says.
    """
    width, height = int(message.info.width), int(message.info.height)
    data = np.asarray(message.data, dtype=np.int8)
    if data.size != width * height or not data.size:
        raise ValueError(f"a grid of {width} x {height} has {data.size} cells")
    step = max(1, math.ceil(max(width, height) / MAX_CELLS))
    rows, columns = math.ceil(height / step), math.ceil(width / step)
    known: NDArray[np.int8] = np.zeros((rows * step, columns * step + step), dtype=np.int8)
    known[:height, :width] = data.reshape(height, width) >= 0
    blocks = known.reshape(rows, step, columns + 1, step).max(axis=(1, 3))
    # A known cell before the first and after the last one closes each run.
    blocks = np.concatenate((np.ones((rows, 1), np.int8), blocks), axis=1)
    blocks[:, -1] = 1
    runs: list[list[int]] = []
    for row in range(rows):
        edges = np.flatnonzero(np.diff(blocks[row]))
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            runs.append([row, int(first), int(end - first)])
    at = message.info.origin.position
    return {
        "x": facts.number(at.x),
        "y": facts.number(at.y),
        "cell": facts.number(step * float(message.info.resolution), 4),
        "runs": runs,
        "share": round(float(blocks[:, 1:-1].mean()), 3),
    }


# Whose calls did which parts of the task, while it goes on (PARTNR-D60).
#
# The report credits by simulation steps and by what each call can change; here only what topics say
# is known: when a part began to count, and which calls of whom ended. `planner evaluate` has the
# figure.

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
