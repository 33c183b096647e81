"""The ROS side of lockstep: messages of memory, skills and planner to the world."""

from __future__ import annotations

from collections import Counter

from rclpy.node import Node

from planner.ros.lockstep import LockstepChannel, LockstepPublisher, LockstepSubscriber
from sim_bridge.lockstep.waiting import Lockstep
from sim_bridge.runtime import Runtime


class LockstepGate:
    """Receives the nodes' channels and decides whether time may advance."""

    def __init__(self, node: Node, losses: Counter[str], *, wait_for_agents: bool) -> None:
        """Subscribes; `wait_for_agents`: whether to wait for skills and planner too."""
        self._node = node
        self.waiting = waiting = Lockstep(wait_for_agents=wait_for_agents)
        self._memory = LockstepSubscriber(node, LockstepChannel.MEMORY, waiting.memory_looks)
        self._skills = LockstepSubscriber(node, LockstepChannel.SKILLS, waiting.skills_act)
        self._planner = LockstepSubscriber(node, LockstepChannel.PLANNER, waiting.planner_acts)
        self._world = (
            LockstepPublisher(node, LockstepChannel.WORLD, losses) if wait_for_agents else None
        )

    def take(self) -> None:
        """Handles what the nodes have sent, before time advances."""
        for channel in (self._memory, self._skills, self._planner):
            channel.take()

    def holds(self, runtime: Runtime, wall_s: float) -> bool:
        """Whether time has to wait for a node that has not finished with this moment."""
        held = self.waiting.holds(runtime.now_s(), wall_s, runtime.busy_agents)
        if self.waiting.warning:
            self._node.get_logger().warning(self.waiting.warning)
            self.waiting.warning = ""
        return held

    def publish_settled(self, runtime: Runtime) -> None:
        """Tells a planner that has to act which agents have no result to come at this time."""
        if self._world is not None:
            now_s = runtime.now_s()
            for agent in self.waiting.newly_settled(now_s, runtime.busy_agents):
                self._world.publish(agent, now_s)

    def drop_lost_peers(self) -> None:
        """Stops waiting for nodes that have left; to be called a few times a second."""
        self.waiting.drop(
            memory=not self._memory.is_present,
            skills=not self._skills.is_present,
            planner=not self._planner.is_present,
        )
