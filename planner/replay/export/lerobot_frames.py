"""Each frame of a LeRobot data set: the body's motion, and what was said and called."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from planner.parts.calls import SKILLS, parse_call, roles_of
from planner.replay.export.source import Received, Source, Steps, Story
from planner.world.errors import FileError
from planner.world.geometry import IDENTITY, Pose, wrap_angle_rad
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
    Role.PERSON: "person",
    Role.DESTINATION: "destination",
    Role.TEXT: "text",
}
# What may be None.
_OPTIONAL = (Role.CONSTRAINT, Role.REFERENCE, Role.DESTINATION)


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
    needed = [word for word, r in named if r not in _OPTIONAL]
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


# The motion of one agent's body at a constant rate: LeRobot's `observation.state` and `action`.
#
# State: the base's pose in `map` and its measured velocity, the joints, the gripper; the newest
# message of each up to the frame's time. Bags contain the measured motion, not the motor commands,
# so an action is the motion until the next frame: the mean velocity of the base in its own frame,
# and the positions of joints and gripper at the next frame. A state and its action give the next
# state.

_BASE_STATE = ("x.pos", "y.pos", "theta.pos", "x.vel", "theta.vel")
_BASE_ACTION = ("x.vel", "y.vel", "theta.vel")
_MAP = "map"
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BodyNames:
    """Names of the numbers of state and action, as in LeRobot's own mobile robots.

    `x`, `y` in metres and `theta` in radians, `.vel` per second; joints in radians, the gripper's
    opening from 0 to 1.
    """

    joints: tuple[str, ...]
    gripper: tuple[str, ...]

    @property
    def state(self) -> tuple[str, ...]:
        """Of `observation.state`."""
        return (*_BASE_STATE, *self._parts)

    @property
    def action(self) -> tuple[str, ...]:
        """Of `action`."""
        return (*_BASE_ACTION, *self._parts)

    @property
    def _parts(self) -> tuple[str, ...]:
        return tuple(f"{name}.pos" for name in (*self.joints, *self.gripper))


@dataclass(frozen=True, slots=True)
class _Base:
    pose: Pose
    linear_m_s: float
    angular_rad_s: float


@dataclass(frozen=True, slots=True)
class Body:
    """The recorded motion of one agent, and the time span in which all of it is known."""

    names: BodyNames
    first_s: float
    last_s: float
    _base: Steps[_Base]
    _odometry_frame: Steps[Pose]
    _joints: Steps[tuple[float, ...]]
    _gripper: Steps[tuple[float, ...]]

    def states(self, times_s: Sequence[float]) -> Floats:
        """The states at some times, (n, len(names.state)) float32."""
        rows = [self._state(time_s) for time_s in times_s]
        return np.array(rows, np.float32).reshape(len(rows), len(self.names.state))

    def _state(self, time_s: float) -> list[float]:
        base = _known(self._base.at(time_s))
        frame = self._odometry_frame.at(time_s) or Pose((0.0, 0.0, 0.0))
        pose = frame.compose(base.pose)
        x, y, _ = pose.position_m
        parts = (*(self._joints.at(time_s) or ()), *(self._gripper.at(time_s) or ()))
        return [x, y, pose.yaw_rad, base.linear_m_s, base.angular_rad_s, *parts]


def read_body(source: Source, agent: str) -> Body:
    """Reads the motion of an agent's body from a bag.

    Raises:
        FileError: if there is no odometry of the agent, or it cannot be read.
    """
    draft = _Draft(agent)
    for message in source.messages((draft.odometry, draft.joints, draft.gripper)):
        source.dispatch(message, draft.add)
    if not len(draft.base):
        known = ", ".join(source.agents) or "none"
        reason = f"has no message; agents of this bag: {known}"
        raise FileError(source.folder, draft.odometry, reason)
    for message in source.messages(("/tf",)):
        source.dispatch(message, draft.add_links)
    return draft.body()


class _Draft:
    """What was read of a body so far."""

    def __init__(self, agent: str) -> None:
        self.odometry = f"/{agent}/odometry"
        self.joints, self.gripper = f"/{agent}/joint_states", f"/{agent}/gripper_state"
        self.base: Steps[_Base] = Steps()
        self._frame = ""
        self._frames: Steps[Pose] = Steps()
        self._names: dict[str, tuple[str, ...]] = {self.joints: (), self.gripper: ()}
        self._parts: dict[str, Steps[tuple[float, ...]]] = {
            self.joints: Steps(),
            self.gripper: Steps(),
        }

    def add(self, message: Received) -> None:
        """Takes a message of odometry, joints or the gripper."""
        if message.topic == self.odometry:
            self._frame = self._frame or str(message.content.header.frame_id)
            self.base.add(message.world_s, _base(message))
            return
        named = tuple(str(name) for name in message.content.name)
        order = self._names[message.topic] = self._names[message.topic] or named
        positions = _in_order(order, named, message)
        if positions is not None:
            self._parts[message.topic].add(message.world_s, positions)

    def add_links(self, message: Received) -> None:
        """Takes a transform from the map to the odometry's frame."""
        for link in message.content.transforms:
            if link.header.frame_id == _MAP and link.child_frame_id == self._frame:
                moved = link.transform
                self._frames.add(message.world_s, _pose(moved.translation, moved.rotation))

    def body(self) -> Body:
        """The complete motion."""
        begins_s = [self.base.span_s[0]]
        begins_s += [steps.span_s[0] for steps in self._parts.values() if len(steps)]
        begins_s += [self._frames.span_s[0]] if len(self._frames) else []
        return Body(
            BodyNames(self._names[self.joints], self._names[self.gripper]),
            max(begins_s),
            self.base.span_s[1],
            self.base,
            self._frames,
            self._parts[self.joints],
            self._parts[self.gripper],
        )


def actions(states: Floats, fps: int) -> Floats:
    """The motion from each of (n, k) states to the next, (n, k - 2) float32.

    After the last state the base stands, and joints and gripper keep their positions.
    """
    after = np.concatenate((states[1:], states[-1:])).astype(np.float64)
    now = states.astype(np.float64)
    moved, yaw = after[:, :2] - now[:, :2], now[:, 2]
    forward = np.cos(yaw) * moved[:, 0] + np.sin(yaw) * moved[:, 1]
    left = -np.sin(yaw) * moved[:, 0] + np.cos(yaw) * moved[:, 1]
    turned = np.array([wrap_angle_rad(float(angle)) for angle in after[:, 2] - yaw])
    velocities = np.stack((forward, left, turned), axis=1) * fps
    parts = after[:, len(_BASE_STATE) :]
    return np.concatenate((velocities, parts), axis=1).astype(np.float32)


def _base(message: Received) -> _Base:
    pose, twist = message.content.pose.pose, message.content.twist.twist
    placed = _pose(pose.position, pose.orientation)
    return _Base(placed, float(twist.linear.x), float(twist.angular.z))


def _pose(p: Any, q: Any) -> Pose:
    turn = (float(q.x), float(q.y), float(q.z), float(q.w))
    return Pose((float(p.x), float(p.y), float(p.z)), turn if any(turn) else IDENTITY)


def _in_order(
    order: tuple[str, ...], named: tuple[str, ...], message: Received
) -> tuple[float, ...] | None:
    """A message's positions in the order of the first message's names; None if it lacks some."""
    if len(message.content.position) != len(named):
        return None
    positions = dict(zip(named, map(float, message.content.position), strict=True))
    return tuple(positions[n] for n in order) if positions.keys() >= set(order) else None


def _known(base: _Base | None) -> _Base:
    if base is None:
        raise ValueError("a time before the first odometry")
    return base
