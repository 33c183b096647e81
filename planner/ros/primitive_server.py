"""The action server of one agent's primitives, which end when the world reports it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner_msgs.action import ExecutePrimitive
from rclpy.node import Node

from planner.ros.conversions import stamped_pose
from planner.ros.goal_server import Goal, GoalServer
from planner.ros.primitive_messages import result_message
from planner.world.bounds import OutOfBounds
from planner.world.geometry import Pose
from planner.world.observation import Observation
from planner.world.primitive import PrimitiveCode, PrimitiveResult
from planner.world.reported import holding_evidence


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
