"""Instruction, calls and results as LeRobot's language columns and as plain text for each frame."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.parts.calls import parse_call, roles_of
from planner.parts.kinds import SKILLS
from planner.replay.export.timeline import Story
from planner.world.skill import CallError, Role

if TYPE_CHECKING:
    import pyarrow as pa

PERSISTENT, EVENTS = "language_persistent", "language_events"
_ARGUMENTS: Mapping[Role, str] = {
    Role.OBJECT: "object",
    Role.FURNITURE: "furniture",
    Role.RECEPTACLE: "furniture",
    Role.ROOM: "room",
    Role.OBJECT_OR_FURNITURE: "entity",
    Role.TARGET: "target",
    Role.RELATION: "relation",
    Role.CONSTRAINT: "constraint",
    Role.REFERENCE: "reference",
    Role.TEXT: "text",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a language column, in LeRobot's terms.

    Attributes:
        content: None if the row is only a tool call.
        style: None with tool calls.
        timestamp_s: since the start of the episode, equal to a frame's.
        tool_calls: JSON texts; None = none.
    """

    role: str
    content: str | None
    style: str | None
    timestamp_s: float
    tool_calls: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Language:
    """Texts of one episode, by frame.

    Attributes:
        tasks: the instruction at each frame.
        calls: the agent's running call at each frame; "" = none.
        results: the text of its last result at each frame; "" = none yet.
        persistent: rows that are valid from their time on.
        events: rows of each frame at which something started.
    """

    tasks: tuple[str, ...]
    calls: tuple[str, ...]
    results: tuple[str, ...]
    persistent: tuple[Row, ...]
    events: tuple[tuple[Row, ...], ...]


def language_of(story: Story, agent: str, times_s: Sequence[float]) -> Language:
    """The language of an episode.

    Args:
        story: of the bag.
        agent: whose calls.
        times_s: of the frames, on the world's clock; at least one.
    """
    tasks, first = [], next((text for _, text in story.instruction), "")
    for time_s in times_s:
        said = story.instruction.at(time_s)
        tasks.append(first if said is None else said)
    running = [story.running(agent, time_s) for time_s in times_s]
    ended = [story.result(agent, time_s) for time_s in times_s]
    persistent, events = _rows(story, agent, times_s)
    return Language(
        tuple(tasks),
        tuple(call.call if call else "" for call in running),
        tuple(call.text if call else "" for call in ended),
        persistent,
        events,
    )


def _rows(
    story: Story, agent: str, times_s: Sequence[float]
) -> tuple[tuple[Row, ...], tuple[tuple[Row, ...], ...]]:
    persistent: list[Row] = []
    events: list[list[Row]] = [[] for _ in times_s]

    def frame(at_s: float) -> int | None:
        place = bisect_left(times_s, at_s - 1e-6)
        return place if place < len(times_s) else None

    for at_s, plan in story.plan:
        _hold(persistent, times_s, frame(at_s), "plan", plan)
    for call in story.calls:
        if call.agent != agent:
            continue
        began = frame(call.began_s)
        _hold(persistent, times_s, began, "subtask", call.call)
        tool_call = tool_call_of(call.call)
        if began is not None and tool_call is not None:
            since_s = times_s[began] - times_s[0]
            events[began].append(Row("assistant", None, None, since_s, (tool_call,)))
        if call.ended_s is not None:
            text = f"{call.call}: {call.text}"
            _hold(persistent, times_s, frame(call.ended_s), "memory", text)
    persistent.sort(key=lambda row: (row.timestamp_s, row.style or ""))
    return tuple(persistent), tuple(tuple(rows) for rows in events)


def _hold(
    rows: list[Row], times_s: Sequence[float], place: int | None, style: str, text: str
) -> None:
    """Adds a row; replaces one with the same style and frame, of which LeRobot reads only one."""
    if place is None:
        return
    since_s = times_s[place] - times_s[0]
    if rows and rows[-1].style == style and rows[-1].timestamp_s == since_s:
        rows.pop()
    rows.append(Row("assistant", text, style, since_s))


def tool_call_of(text: str) -> str | None:
    """A skill call as the JSON of an OpenAI-style tool call; None if the text is not a call."""
    try:
        call = parse_call(text)
    except CallError:
        return None
    names = _argument_names(roles_of(call.name))
    arguments = {
        name: word for name, word in zip(names, call.arguments, strict=True) if word is not None
    }
    function = {"name": call.name, "arguments": arguments}
    return json.dumps({"type": "function", "function": function})


def tools() -> list[dict[str, object]]:
    """The skills as OpenAI-style tool schemas, for `info.json`."""
    return [_tool(name, part.roles) for name, part in SKILLS.usable().items()]


def _tool(name: str, roles: Sequence[Role]) -> dict[str, object]:
    named = list(zip(_argument_names(roles), roles, strict=True))
    properties = {word: {"type": "string", "description": r.value} for word, r in named}
    needed = [word for word, r in named if r not in (Role.CONSTRAINT, Role.REFERENCE)]
    parameters = {"type": "object", "properties": properties, "required": needed}
    words = f"Skill {name}[{', '.join(role.value for role in roles)}]"
    function = {"name": name, "description": words, "parameters": parameters}
    return {"type": "function", "function": function}


def _argument_names(roles: Sequence[Role]) -> list[str]:
    """A name for each argument; repeated names are numbered."""
    names: list[str] = []
    for role in roles:
        word = _ARGUMENTS[role]
        names.append(f"{word}_{len(names) + 1}" if word in names else word)
    return names


def column(rows_of_frames: Sequence[Sequence[Row]], *, timed: bool) -> pa.Array:
    """A language column: a list of rows for each frame.

    Args:
        rows_of_frames: the rows of each frame.
        timed: whether rows have timestamps of their own (persistent ones), or their frame's.
    """
    import pyarrow as pa

    rows = [row for rows in rows_of_frames for row in rows]
    texts = [call for row in rows for call in row.tool_calls or ()]
    # Arrow builds lists of its JSON type only from their parts.
    calls = pa.ListArray.from_arrays(
        pa.array(_offsets([len(row.tool_calls or ()) for row in rows]), pa.int32()),
        pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts, pa.string())),
        mask=pa.array([row.tool_calls is None for row in rows], pa.bool_()),
    )
    stamps = pa.array(np.array([row.timestamp_s for row in rows], np.float32), pa.float32())
    columns: list[tuple[pa.Field, pa.Array]] = [
        (pa.field("role", pa.string(), nullable=False), _texts([row.role for row in rows])),
        (pa.field("content", pa.string()), _texts([row.content for row in rows])),
        (pa.field("style", pa.string()), _texts([row.style for row in rows])),
        (pa.field("timestamp", pa.float32(), nullable=False), stamps),
        (pa.field("camera", pa.string()), _texts([None] * len(rows))),
        (pa.field("tool_calls", pa.list_(pa.json_())), calls),
    ]
    kept = [pair for pair in columns if timed or pair[0].name != "timestamp"]
    struct = pa.StructArray.from_arrays([a for _, a in kept], fields=[f for f, _ in kept])
    offsets = pa.array(_offsets([len(rows) for rows in rows_of_frames]), pa.int32())
    return pa.ListArray.from_arrays(offsets, struct)


def _texts(values: Sequence[str | None]) -> pa.Array:
    import pyarrow as pa

    return pa.array(values, pa.string())


def _offsets(lengths: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(lengths, dtype=np.int64).tolist()]
