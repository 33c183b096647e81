"""The ROS side of lockstep: what memory, skills and planner say to a world that waits for them."""

from __future__ import annotations

from rclpy.node import Node

from planner.ros.lockstep import LockstepChannel, LockstepSubscriber
from sim_bridge.lockstep.waiting import Lockstep
from sim_bridge.runtime import Runtime


class LockstepGate:
    """Hears the three voices and says whether time may go on."""

    def __init__(self, node: Node, *, turns: bool) -> None:
        """Subscribes; `turns`: skills and planner are waited for as well as the memory."""
        self._node = node
        self.waiting = waiting = Lockstep(turns=turns)
        self._memory = LockstepSubscriber(node, LockstepChannel.MEMORY, waiting.memory_looks)
        self._skills = LockstepSubscriber(node, LockstepChannel.SKILLS, waiting.skills_act)
        self._planner = LockstepSubscriber(node, LockstepChannel.PLANNER, waiting.planner_acts)

    def holds(self, runtime: Runtime, wall_s: float) -> bool:
        """Whether this moment is not over yet for those who act on it."""
        held = self.waiting.holds(runtime.now_s(), wall_s, runtime.busy_agents)
        if self.waiting.complaint:
            self._node.get_logger().warning(self.waiting.complaint)
            self.waiting.complaint = ""
        return held

    def miss_the_gone(self) -> None:
        """Waits no more for who has left; to be called a few times a second."""
        self.waiting.lost(
            memory=not self._memory.is_present,
            skills=not self._skills.is_present,
            planner=not self._planner.is_present,
        )
