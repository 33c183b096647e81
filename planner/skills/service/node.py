"""One agent's `skill` action: passes goals to the executor and returns results."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from planner_msgs.action import ExecuteSkill
from rclpy.node import Node

from planner.ros.conversions import point_m
from planner.ros.goal_server import Goal, GoalServer
from planner.ros.lockstep import LockstepPublisher
from planner.ros.skill_client import result_message
from planner.skills.executor import SkillExecutor, SkillStatus
from planner.skills.results import canceled
from planner.world import topics
from planner.world.bounds import OutOfBounds
from planner.world.geometry import Vec3
from planner.world.skill import SkillCode, SkillResult

_CHECK_PERIOD_S = 0.2
_FEEDBACK_EVERY_S = 0.2


class SkillServer:
    """Serves /AGENT/skill with one executor."""

    def __init__(
        self,
        node: Node,
        executor: SkillExecutor,
        on_work: Callable[[], None],
        lockstep: LockstepPublisher,
        refusal: Callable[[], str],
    ) -> None:
        """Creates the action server.

        Args:
            node: the owner of the server.
            executor: of the agent.
            on_work: called when `beat` must be called.
            lockstep: tells a world in lockstep until when the agent is idle.
            refusal: returns why calls are refused now; "" = they are accepted.
        """
        self._node = node
        self._executor = executor
        self._on_work, self._refusal = on_work, refusal
        self._lockstep, self._lockstep_s = lockstep, math.inf
        name = topics.of_agent(executor.agent, topics.SKILL)
        self._server = GoalServer(
            node,
            ExecuteSkill,
            name,
            on_goal=self._begin,
            on_wrong=self._refuse,
            on_cancel=self._cancel,
            now_s=lambda: float(node.get_clock().now().nanoseconds) * 1e-9,
            fault_code=int(SkillCode.BACKEND_FAULT),
        )
        self._goals: list[Goal] = []
        self._published: SkillStatus | None = None
        self._published_s = self._looked_s = 0.0

    @property
    def busy(self) -> bool:
        """Whether a call is running."""
        return self._executor.running is not None

    def beat(self) -> None:
        """Advances the running call, and ends the goals of one that ended."""
        if not self.busy and not self._goals:
            return
        self._watch_clients()
        result = self._executor.step()
        if result is not None:
            for goal in self._goals:
                self._conclude(goal, result)
            self._goals.clear()
            self._published = None
        else:
            self._publish_feedback()
        self._publish_lockstep(self._executor.quiet_until_s)

    def cancel(self) -> None:
        """Cancels the running call, if there is one."""
        if self._goals:
            self._executor.cancel()
            self._on_work()

    def destroy(self) -> None:
        """Stops the agent, ends all goals and destroys the server."""
        self._executor.cancel()
        for goal in self._goals:
            self._conclude(goal, canceled(agent=self._executor.agent))
        self._goals.clear()
        self._publish_lockstep(math.inf)
        self._server.destroy()

    def _begin(self, goal: Goal) -> None:
        request = goal.request
        points, problem = _points(request)
        result: SkillResult | None
        if refusal := self._refusal():
            result = SkillResult.failure(SkillCode.NOT_ALLOWED, f"{refusal}.")
        elif problem:
            result = SkillResult.failure(SkillCode.WRONG_ARGUMENTS, problem)
        else:
            # Published before the body starts, so that no time passes in between.
            self._publish_lockstep(0.0)
            result = self._executor.start(request.call, float(request.timeout_s), points)
        if result is not None:
            self._conclude(goal, result)
        else:
            self._goals.append(goal)
            self._on_work()
        self._publish_lockstep(self._executor.quiet_until_s)

    def _refuse(self, goal: Goal, problem: OutOfBounds) -> None:
        text = f"The goal is out of bounds: {problem}."
        code = SkillCode.UNPARSABLE if problem.field == "call" else SkillCode.WRONG_ARGUMENTS
        self._conclude(goal, SkillResult.failure(code, text))

    def _publish_lockstep(self, quiet_until_s: float) -> None:
        """Tells a world in lockstep until when it need not wait for this agent."""
        if quiet_until_s != self._lockstep_s:
            self._lockstep_s = quiet_until_s
            self._lockstep.publish(self._executor.agent, quiet_until_s)

    def _cancel(self, goal: Goal) -> None:
        if goal in self._goals:
            self.cancel()

    def _watch_clients(self) -> None:
        """Stops an agent if no client is waiting for its call any more."""
        wall_s = time.monotonic()
        if not self._goals or wall_s - self._looked_s < _CHECK_PERIOD_S:
            return
        self._looked_s = wall_s
        left = []
        for goal in self._goals:
            reason = self._server.lost_client(goal)
            if reason:
                agent, call = self._executor.agent, self._executor.running
                self._node.get_logger().warning(f"{agent}: {call}: {reason}")
                self._conclude(goal, canceled(agent=agent))
            else:
                left.append(goal)
        self._goals = left
        # Another client may have requested the same call (PARTNR-D55).
        if not left:
            self._executor.cancel()

    def _publish_feedback(self) -> None:
        status, wall_s = self._executor.status, time.monotonic()
        if status == self._published or wall_s - self._published_s < _FEEDBACK_EVERY_S:
            return
        self._published, self._published_s = status, wall_s
        message = ExecuteSkill.Feedback(phase=status.phase, progress=status.progress)
        for goal in self._goals:
            goal.publish_feedback(message)

    def _conclude(self, goal: Goal, result: SkillResult) -> None:
        self._server.conclude(
            goal,
            result_message(result),
            succeeded=result.succeeded,
            canceled=result.code is SkillCode.CANCELED,
        )


def _points(request: ExecuteSkill.Goal) -> tuple[tuple[Vec3, ...] | None, str]:
    """The points of a goal, and what is wrong with them."""
    if not request.points:
        return None, ""
    points = tuple(point_m(item.point) for item in request.points)
    frames = {item.header.frame_id for item in request.points} - {"map"}
    if frames:
        return None, f"Expected points in frame map, got {', '.join(sorted(frames)) or 'none'}."
    if not all(math.isfinite(value) for point in points for value in point):
        return None, "The coordinates of a point must be finite."
    return points, ""
