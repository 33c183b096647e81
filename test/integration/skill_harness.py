"""The skill-executor node in a process of its own, and a client that calls skills over ROS."""

from __future__ import annotations

from typing import Any

from action_msgs.msg import GoalStatus
from bridge_harness import BEST_EFFORT, LATCHED, TIMEOUT_S, Client
from nav_msgs.msg import Odometry
from node_processes import Node
from planner_msgs.action import ExecuteSkill
from planner_msgs.msg import SkillReport, WorldGraph
from skill_world import belief_of

from planner.ros.clients import MatchedClient
from planner.ros.memory_messages import GraphMessages
from planner.world.house import House


class Skills:
    """The node's process."""

    def __init__(self, **parameters: object) -> None:
        self.process = Node("skill_executor", **parameters)

    @property
    def serving(self) -> bool:
        return "serves agent_1" in self.process.log

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT_S)


class Caller(Client):
    """A client that calls skills and publishes the ground truth as the memory's graph."""

    def __init__(self, house: House) -> None:
        super().__init__("caller")
        self.house = house
        self._graphs = self.node.create_publisher(WorldGraph, "/world_graph", LATCHED)
        self.reports = []
        self.node.create_subscription(SkillReport, "/skills/results", self.reports.append, 100)
        self._skills: dict[str, MatchedClient] = {}

    def tell(self) -> None:
        """Publishes what an all-knowing memory would."""
        self._graphs.publish(GraphMessages().message(belief_of(self.house, self.state())))

    def skill(self, agent: str = "agent_0") -> MatchedClient:
        if agent not in self._skills:
            self._skills[agent] = MatchedClient(self.node, ExecuteSkill, f"/{agent}/skill")
        self.wait(self._skills[agent].is_ready, f"the skills of {agent}")
        return self._skills[agent]

    def begin(self, call: str, agent: str = "agent_0", **more: Any) -> Goal:
        goal = Goal(self)
        sent = self.skill(agent).send(
            ExecuteSkill.Goal(call=call, **more), feedback_callback=goal.feedback.append
        )
        self.wait(sent.done, "the goal's acceptance")
        goal.handle = sent.result()
        assert goal.handle.accepted
        return goal

    def run(self, call: str, agent: str = "agent_0", **more: Any) -> ExecuteSkill.Result:
        result = self.begin(call, agent, **more).result()
        self.tell()
        return result

    def speed(self, agent: str = "agent_0") -> float:
        return abs(self.hear(Odometry, f"/{agent}/odometry", BEST_EFFORT).twist.twist.linear.x)


class Goal:
    """A skill call under way."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.handle: Any = None
        self.feedback: list[Any] = []
        self.status = GoalStatus.STATUS_UNKNOWN

    def result(self, limit_s: float = TIMEOUT_S) -> ExecuteSkill.Result:
        asked = self.handle.get_result_async()
        self.caller.wait(asked.done, "the skill's result", limit_s)
        self.status = asked.result().status
        result: ExecuteSkill.Result = asked.result().result
        return result

    def cancel(self) -> None:
        asked = self.handle.cancel_goal_async()
        self.caller.wait(asked.done, "the cancel's answer")
