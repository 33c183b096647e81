"""One agent's primitives over ROS: client, server, and their messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped, PoseStamped
from planner_msgs.action import ExecutePrimitive
from rclpy.node import Node

from planner.ros import qos
from planner.ros.camera_input import BodySenses
from planner.ros.clients import MatchedClient, why_no_result
from planner.ros.conversions import (
    header,
    point_m,
    point_message,
    pose_record,
    stamped_pose,
    time_message,
)
from planner.ros.goal_server import ActionPeers, Goal, GoalServer, Peers, accept_timeout_s
from planner.ros.subscriptions import bounds_of, checked, listen
from planner.world import topics
from planner.world.bounds import OutOfBounds
from planner.world.geometry import Pose, Vec3
from planner.world.memory_wire import stamp_seconds
from planner.world.observation import Observation
from planner.world.primitive import (
    Capabilities,
    Drive,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
    holding_evidence,
    read_holding,
)

# Primitives and their results between records and planner_msgs/ExecutePrimitive.


def goal_message(primitive: Primitive) -> ExecutePrimitive.Goal:
    """The goal that asks for a primitive."""
    reference = primitive.reference_m
    drive = primitive.drive or Drive(0.0)
    return ExecutePrimitive.Goal(
        name=str(primitive.name),
        target=_stamped(primitive.frame, primitive.target_m),
        relation=str(primitive.relation or ""),
        has_reference=reference is not None,
        reference=_stamped(primitive.frame, reference or (0.0, 0.0, 0.0)),
        heading_rad=float(primitive.heading_rad),
        standoff_m=float(primitive.standoff_m),
        pan_rad=[float(pan) for pan, _ in primitive.views_rad],
        tilt_rad=[float(tilt) for _, tilt in primitive.views_rad],
        timeout_s=float(primitive.timeout_s),
        tolerance_m=float(primitive.tolerance_m),
        # A goal has one field for words: what is picked, or what is said.
        thing_class=primitive.words or primitive.thing_class,
        hand=str(primitive.hand or ""),
        drive_s=float(drive.duration_s),
        forward_m_s=float(drive.forward_m_s),
        turn_rad_s=float(drive.turn_rad_s),
        pan_rad_s=float(drive.pan_rad_s),
        tilt_rad_s=float(drive.tilt_rad_s),
    )


def result_message(result: PrimitiveResult) -> ExecutePrimitive.Result:
    """The result that reports how a primitive ended."""
    return ExecutePrimitive.Result(
        code=int(result.code),
        text=result.text,
        has_position=result.position_m is not None,
        position=point_message(result.position_m or (0.0, 0.0, 0.0)),
        rule=result.rule,
        evidence=[KeyValue(key=key, value=value) for key, value in result.evidence.items()],
        stamp=time_message(result.ended_s or 0.0),
    )


def result_record(message: ExecutePrimitive.Result) -> PrimitiveResult:
    """The inverse of `result_message`; a code from a newer bridge counts as a fault."""
    known = message.code in set(PrimitiveCode)
    return PrimitiveResult(
        PrimitiveCode(message.code) if known else PrimitiveCode.BACKEND_FAULT,
        message.text if known else f"unknown code {message.code}: {message.text}",
        {item.key: item.value for item in message.evidence},
        point_m(message.position) if message.has_position else None,
        int(message.rule),
        stamp_seconds(message.stamp) or None,
    )


def _stamped(frame: str, point: Vec3) -> PointStamped:
    return PointStamped(header=header(0.0, frame), point=point_message(point))


# Wall seconds: timeout for a bridge that is not discovered yet, and for its answer.
WAIT_FOR_BRIDGE_S = 5.0
CANCEL_TIMEOUT_S = 5.0
_CHECK_PERIOD_S = 0.2
# A pose this much older than the newest one is of a world that was restarted.
_RESTARTED_S = 5.0
# The safety rules by which a bridge ends or refuses what the link keeps from a robot: an executive
# that is not heard, and a robot that does not answer (docs/safety.md).
_LINK_LOST, _EXECUTIVE_LOST = 7, 8
# The operator's commands that end motion (sim_bridge/one_robot.py); also one that is waited for.
_ENDS_MOTION = ("stop", "sit", "release", "power_off", "estop/gentle", "estop/hard")
# Wall seconds between two requests while the link is down.
_AGAIN_S = 0.5
# A request that was under way for longer was not refused: what ends it is another outage.
_UNDER_WAY_S = 1.0
# What a request that is repeated finds if the first one had its effect before it was interrupted.
_HAPPENED: dict[str, PrimitiveCode] = {
    PrimitiveName.PICK: PrimitiveCode.HAND_FULL,
    PrimitiveName.PLACE: PrimitiveCode.HAND_EMPTY,
}

Located = Callable[[], tuple[Pose, float] | None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long primitives wait for a link that is down; they are requested again once it is back.

    Attributes:
        budget_s: of one outage, wall seconds; after it the primitive fails.
        heard_s: when an executive was last heard, on the monotonic clock. A robot that none attends
            is not waited for: only a person can change that.
    """

    budget_s: float
    heard_s: Callable[[], float]


@dataclass(slots=True)
class _Task:
    """A requested primitive; times are on the monotonic wall clock.

    Attributes:
        lost_s: when the present or the last outage was noticed.
        again_s: not requested again before.
        begun, interrupted: whether the body has moved for it, and whether an outage ended that.
        stopped: whether the operator has ended the agent's motion since it was requested.
    """

    primitive: Primitive
    began_s: float
    sent: bool = False
    sent_s: float = 0.0
    servers: Peers | None = None
    handle: Any = None
    cancel_s: float | None = None
    phase: str = "waiting for the bridge"
    progress: float = 0.0
    result: PrimitiveResult | None = None
    lost_s: float | None = None
    again_s: float = 0.0
    begun: bool = False
    interrupted: bool = False
    stopped: bool = False


class PrimitiveClient:
    """One agent's body over ROS; see `planner.skills.attempt.PrimitivePort`."""

    def __init__(
        self,
        node: Node,
        agent: str,
        capabilities: Capabilities,
        located: Located,
        wake: Callable[[], None],
        announce: Callable[[], None] = lambda: None,
        patience: Patience | None = None,
    ) -> None:
        """Connects.

        Args:
            node: its clock is the world's.
            agent: the agent's name and namespace.
            capabilities: of its kind of body.
            located: where the memory last saw the agent and when, or None.
            wake: called when a primitive has ended.
            announce: called before each goal, to tell the bridge that the agent is attended.
            patience: with the link; None = a primitive that it interrupts fails at once.
        """
        self._node = node
        self.agent = agent
        self._capabilities = capabilities
        self._located = located
        self._wake = wake
        self._announce, self._patience = announce, patience
        self._name = topics.of_agent(agent, topics.PRIMITIVE)
        self._receipts = None
        if patience is not None:
            receipts = topics.of_agent(agent, topics.RECEIPTS)
            self._receipts = listen(node, DiagnosticStatus, receipts, self._on_receipt, qos.STATE)
        # Anew while a goal still waits.
        self._client = MatchedClient(node, ExecutePrimitive, self._name, WAIT_FOR_BRIDGE_S / 2)
        self._ends = ActionPeers(node, self._name)
        self._senses = BodySenses(node, agent, capabilities.cameras)
        self._tasks: dict[int, _Task] = {}
        self._next = 0
        self._checked_s = 0.0
        self._base: tuple[Pose, float] | None = None
        self._holding: bool | None = None

    def capabilities(self) -> Capabilities:
        """The body's capabilities."""
        return self._capabilities

    def base(self) -> Pose | None:
        """The newest pose reported by the bridge or the memory."""
        believed = self._located()
        reported = self._base
        if reported is None or (believed is not None and believed[1] > reported[1]):
            return believed[0] if believed is not None else None
        return reported[0]

    def observe(self, cameras: Sequence[str] = ("hand",)) -> Observation | None:
        """The newest that the bridge's topics say; subscribes to them at the first call.

        Raises:
            PlannerError: for a camera that the body lacks, or a picture that cannot be read.
        """
        return self._senses.observe(cameras)

    def holding(self) -> bool | None:
        """What the newest result says of the hand; None before the first, or if it does not."""
        return self._holding

    def now_s(self) -> float:
        """Seconds on the node's clock."""
        return float(self._node.get_clock().now().nanoseconds) * 1e-9

    def start(self, primitive: Primitive) -> int:
        """Requests a primitive; waits a while for the bridge."""
        self._next += 1
        # Only the newest is ever polled again.
        self._tasks = {self._next: _Task(primitive, time.monotonic())}
        self._send(self._tasks[self._next])
        return self._next

    def poll(self, handle: int) -> PrimitiveStatus:
        """The state of a primitive."""
        task = self._tasks[handle]
        if task.result is None:
            self._watch(task)
        return PrimitiveStatus(task.phase, task.progress, task.result)

    def cancel(self, handle: int) -> None:
        """Requests the bridge to stop it."""
        task = self._tasks[handle]
        if task.result is not None or task.cancel_s is not None:
            return
        task.cancel_s = time.monotonic()
        if not task.sent:
            task.result = PrimitiveResult(PrimitiveCode.CANCELED, "canceled")
        elif task.handle is not None:
            task.handle.cancel_goal_async()

    def forget(self) -> None:
        """Drops the agent's pose and what it sensed: the world was reset."""
        self._base = self._holding = None
        self._senses.forget()

    def destroy(self) -> None:
        """Removes the client."""
        for handle in self._tasks:
            self.cancel(handle)
        self._senses.destroy()
        if self._receipts is not None:
            self._node.destroy_subscription(self._receipts)
        self._client.destroy()

    # Details

    def _send(self, task: _Task) -> None:
        if not self._client.is_ready():
            return
        task.sent, task.sent_s = True, time.monotonic()
        task.servers = self._ends.servers()
        self._announce()

        note = checked(self._node, ExecutePrimitive.Feedback, self._name, partial(self._note, task))

        def feedback(message: Any) -> None:
            note(message.feedback)

        future = self._client.send(goal_message(task.primitive), feedback_callback=feedback)
        future.add_done_callback(lambda done: self._accepted(task, done.result()))

    def _accepted(self, task: _Task, handle: Any) -> None:
        if handle is None or not handle.accepted:
            self._finish(task, _fault("the bridge refused the goal"))
            return
        task.handle, task.servers = handle, self._ends.takers()
        if task.cancel_s is not None or task.result is not None:
            handle.cancel_goal_async()
        answer = handle.get_result_async()
        answer.add_done_callback(lambda done: self._ended(task, done.result()))

    def _ended(self, task: _Task, answer: Any) -> None:
        reason = why_no_result(answer)
        if reason:
            self._finish(task, _fault(f"the bridge gave no result: {reason}"))
            return
        problem = bounds_of(ExecutePrimitive.Result).problem(answer.result, 0.0)
        if problem:
            self._finish(task, _fault(f"the bridge's result is out of bounds: {problem}"))
            return
        if answer.result.pose.header.frame_id:
            self._move(answer.result.pose)
        self._finish(task, result_record(answer.result))

    def _finish(self, task: _Task, result: PrimitiveResult) -> None:
        if task.result is None and not self._waits(task, result):
            task.result = _despite_outage(task, result)
            self._holding = read_holding(result.evidence)
            self._wake()

    def _waits(self, task: _Task, result: PrimitiveResult) -> bool:
        """Whether the link has ended a primitive that is requested again when it is back."""
        patience, wall_s = self._patience, time.monotonic()
        if patience is None or task.stopped or task.cancel_s is not None:
            return False
        attended = wall_s - patience.heard_s() <= patience.budget_s
        if result.rule != _LINK_LOST and not (result.rule == _EXECUTIVE_LOST and attended):
            return False
        if task.lost_s is None or wall_s - task.sent_s > _UNDER_WAY_S:
            task.lost_s = wall_s
            self._node.get_logger().warning(
                f"{self.agent}: {task.primitive.name}: {result.text}; it goes on if that ends "
                f"within {patience.budget_s:g} s"
            )
        if wall_s - task.lost_s >= patience.budget_s:
            return False
        task.interrupted = task.interrupted or task.begun
        task.sent, task.handle, task.servers = False, None, None
        task.began_s = task.again_s = wall_s + _AGAIN_S
        task.phase = f"waiting for the link: {result.text}"
        return True

    def _on_receipt(self, receipt: DiagnosticStatus) -> None:
        """Whoever stops an agent that waits for its link does not want it to go on after it."""
        if receipt.name not in {f"{self.agent}: {command}" for command in _ENDS_MOTION}:
            return
        for task in self._tasks.values():
            task.stopped = True
            if task.again_s and not task.sent and task.result is None:
                task.result = PrimitiveResult(PrimitiveCode.STOPPED, "the agent was stopped")
                self._wake()

    def _note(self, task: _Task, feedback: ExecutePrimitive.Feedback) -> None:
        task.phase, task.progress, task.begun = feedback.phase, float(feedback.progress), True
        self._move(feedback.pose)

    def _move(self, pose: PoseStamped) -> None:
        """The body stands there, unless a message that came before is newer."""
        stamp_s = stamp_seconds(pose.header.stamp)
        age_s = 0.0 if self._base is None else self._base[1] - stamp_s
        if not 0.0 < age_s < _RESTARTED_S:
            self._base = (pose_record(pose.pose), stamp_s)

    def _watch(self, task: _Task) -> None:
        """Ends a primitive if its bridge is missing, lost, or does not answer."""
        wall_s = time.monotonic()
        if not task.sent:
            if wall_s < task.again_s:
                return
            self._send(task)
            if wall_s - task.began_s > WAIT_FOR_BRIDGE_S and not task.sent:
                task.result = _fault(f"no bridge answers for {self.agent}")
            return
        if task.cancel_s is not None and wall_s - task.cancel_s > CANCEL_TIMEOUT_S:
            task.result = _fault("the bridge does not answer")
            return
        if wall_s - self._checked_s >= _CHECK_PERIOD_S and task.servers is not None:
            self._checked_s = wall_s
            reason = self._ends.lost_server(task.servers)
            if task.handle is None:
                late = wall_s - task.sent_s > accept_timeout_s(task.servers)
                reason = reason or ("no bridge took the goal" if late else "")
            elif reason:
                # If another server was lost instead: nothing may move that nobody follows.
                task.handle.cancel_goal_async()
            if reason:
                task.result = _fault(reason)


def _despite_outage(task: _Task, result: PrimitiveResult) -> PrimitiveResult:
    """The result, seen with what the primitive had done when the link was lost."""
    if not (task.interrupted and _HAPPENED.get(task.primitive.name) is result.code):
        return result
    text = f"{task.primitive.name}: done while the link was lost"
    return replace(result, code=PrimitiveCode.SUCCESS, text=text, rule=0)


def _fault(text: str) -> PrimitiveResult:
    return PrimitiveResult(PrimitiveCode.BACKEND_FAULT, text)


# The action server of one agent's primitives, which end when the world reports it.


class PrimitiveServer(GoalServer):
    """Serves planner_msgs/ExecutePrimitive; `finish` ends a goal."""

    def __init__(
        self,
        node: Node,
        name: str,
        *,
        on_goal: Callable[[Goal], None],
        on_wrong: Callable[[Goal, OutOfBounds], None],
        on_cancel: Callable[[Goal], None],
        now_s: Callable[[], float],
    ) -> None:
        """Serves the action `name`; see `GoalServer`."""
        super().__init__(
            node,
            ExecutePrimitive,
            name,
            on_goal=on_goal,
            on_wrong=on_wrong,
            on_cancel=on_cancel,
            now_s=now_s,
            fault_code=int(PrimitiveCode.BACKEND_FAULT),
        )

    def feedback(self, goal: Goal, phase: str, progress: float, stamp_s: float, base: Pose) -> None:
        """Sends the progress of a goal to its client; `base` is in `map`."""
        goal.publish_feedback(
            ExecutePrimitive.Feedback(
                phase=phase, progress=float(progress), pose=stamped_pose(stamp_s, "map", base)
            )
        )

    def finish(
        self, goal: Goal, result: PrimitiveResult, stamp_s: float, seen: Observation | None
    ) -> None:
        """Ends a goal; its client gets the result with the body's pose and what its hand feels.

        What comes next starts from there. Feedback may come behind the result, or be dropped.

        Args:
            goal: to be ended.
            result: as the world reports it.
            stamp_s: of the end, on the world's clock.
            seen: what the body senses then; None if it is not there any more.
        """
        felt = {} if seen is None else holding_evidence(holds=seen.holding)
        ended = replace(result, ended_s=stamp_s, evidence={**result.evidence, **felt})
        message = result_message(ended)
        if seen is not None:
            message.pose = stamped_pose(stamp_s, "map", seen.base)
        self.conclude(
            goal,
            message,
            succeeded=result.succeeded,
            canceled=result.code is PrimitiveCode.CANCELED,
        )
