"""Node `narrator`: hands over the instruction, prints the story, ends the run with a verdict."""

from __future__ import annotations

import math
import time
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from nav_msgs.msg import Odometry
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import Evaluation, MemoryUpdate, Operation, SkillReport, WorldGraph
from rclpy.action.client import ActionClient
from rclpy.client import Client
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from sensor_msgs.msg import Image
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from planner.narrator import story
from planner.narrator.picture import Moment, Move, Point, draw_run, save
from planner.ros import parameters, qos
from planner.ros.action_ends import ActionEnds, accept_patience_s
from planner.ros.conversions import seconds
from planner.ros.images import rgb_array
from planner.ros.lifecycle import run_node
from planner.ros.memory_messages import belief_record
from planner.world.errors import PlannerError
from planner.world.house_checks import load_episode
from planner.world.observation import RgbImage
from planner.world.skill import CallError, SkillCode, SkillName, parse_call

MOVED_M = 0.1
MOST_MOMENTS = 10
# Wall seconds.
VERDICT_WAIT_S, ASK_JUDGE_EVERY_S = 30.0, 4.0
MOST_ASKINGS = 4
# `planner.planning.session.InstructionCode`.
WORLD_LOST = 11


class NarratorNode(Node):
    """A client of the task planner like any other: it has no power of its own."""

    def __init__(self) -> None:
        """Reads the episode.

        Raises:
            PlannerError: where the episode or a parameter cannot be used.
        """
        super().__init__("narrator")
        episode = parameters.text(self, "episode", "", "name or file of the episode")
        agents = parameters.whole(self, "agents", 0, "agents to use; 0 = all", least=0)
        waits = parameters.flag(
            self, "attended", False, "whether an operator lets the agents move before it begins"
        )
        self._folder = Path(parameters.text(self, "record", "", "folder for the picture"))
        self._bag = parameters.text(self, "bag", "", "where the bag is, for the last line")
        self._wait_s = parameters.number(
            self, "wait", 90.0, "seconds to wait for the task planner", least=1.0
        )
        self._episode, self._house = load_episode(episode)
        uids = [placement.uid for placement in self._episode.agents]
        self._agents = uids[: agents or len(uids)]
        self.succeeded = False
        self._now_s = 0.0
        self._since = story.StoryClock().since
        self._may_move = dict.fromkeys(self._agents, not waits)
        self._told_to_wait = False
        self._ways: dict[str, list[Point]] = {agent: [] for agent in self._agents}
        self._views: dict[str, RgbImage] = {}
        self._picked_at: dict[str, Point] = {}
        self._moves: list[Move] = []
        self._moments: list[Moment] = []
        self._plan: dict[str, str] = {}
        self._why = ""
        self._found: dict[str, float] = {}
        self._progress: tuple[float, int] = (-1.0, -1)
        self._result: Evaluation | None = None
        self._waited_s = 0.0
        self._moving = False
        self._listen()
        self._client: ActionClient[Any, Any, Any] = ActionClient(
            self, FollowInstruction, "/instruct"
        )
        self._ends = ActionEnds(self, "/instruct")
        self._judge: Client[Any, Any] = self.create_client(Trigger, "/evaluation/finish")
        self._timer = self.create_timer(0.2, self._begin)

    def _listen(self) -> None:
        for agent in self._agents:
            self.create_subscription(
                Odometry, f"/{agent}/odometry", partial(self._on_odometry, agent), qos.STATE_INPUT
            )
            self.create_subscription(
                Image,
                f"/{agent}/camera/hand/image",
                partial(self._on_view, agent),
                qos.IMAGE_INPUT,
            )
            if not self._may_move[agent]:
                topic = f"/{agent}/safety/motion_allowed"
                self.create_subscription(Bool, topic, partial(self._on_allowed, agent), qos.LATCHED)
        self.create_subscription(MemoryUpdate, "/memory/updates", self._on_memory, qos.EVENTS)
        self.create_subscription(
            WorldGraph, "/world_graph", self._on_graph, qos.STATE_INPUT, raw=True
        )
        self.create_subscription(SkillReport, "/skills/results", self._on_skill, qos.EVENTS)
        self.create_subscription(Evaluation, "/evaluation", self._on_progress, qos.EVENTS)
        self.create_subscription(Evaluation, "/evaluation/result", self._on_result, qos.LATCHED)

    # What is told

    def _on_allowed(self, agent: str, message: Bool) -> None:
        self._may_move[agent] = message.data

    def _on_odometry(self, agent: str, message: Odometry) -> None:
        self._now_s = self._since(seconds(message.header.stamp))
        position = message.pose.pose.position
        here, way = (position.x, position.y), self._ways[agent]
        speed, turn = message.twist.twist.linear, message.twist.twist.angular
        if not self._moving and (speed.x or speed.y or turn.z):
            self._moving = True
            self._say(story.moving_line(self._now_s, agent))
        if not way or math.dist(here, way[-1]) > MOVED_M:
            way.append(here)

    def _on_view(self, agent: str, message: Image) -> None:
        self._views[agent] = rgb_array(message)

    def _on_memory(self, message: MemoryUpdate) -> None:
        self._found |= {
            operation.entity.name: self._since(seconds(message.header.stamp))
            for operation in message.operations
            if operation.kind == Operation.ADD and not operation.entity.is_furniture
        }

    def _on_graph(self, data: bytes) -> None:
        """Tells where new things are; graphs come often and are read only for that."""
        if not self._found:
            return
        nodes = belief_record(deserialize_message(data, WorldGraph)).nodes
        known = {name: stamp_s for name, stamp_s in self._found.items() if name in nodes}
        sights = [
            story.Sight(node.name, node.relation, node.parent or "", node.room or "")
            for node in map(nodes.__getitem__, known)
        ]
        for line in story.seen_lines(max(known.values(), default=0.0), sights):
            self._say(line)
        for name in known:
            del self._found[name]

    def _on_skill(self, message: SkillReport) -> None:
        stamp = self._since(seconds(message.header.stamp))
        self._say(story.ended_line(stamp, message.agent, message.call, message.code, message.text))
        try:
            call = parse_call(message.call)
        except CallError:
            return
        moved = (SkillName.PICK, SkillName.PLACE, SkillName.REARRANGE)
        if message.code != SkillCode.SUCCESS or call.name not in moved:
            return
        thing, place = str(call.arguments[0]), _place_in(message)
        if call.name is SkillName.PICK and place:
            self._picked_at[thing] = place
        elif thing in self._picked_at and place:
            self._moves.append(Move(thing, self._picked_at.pop(thing), place))
        self._keep_moment(message.agent, f"{story.clock(stamp)} {message.agent}\n{message.call}")

    def _keep_moment(self, agent: str, caption: str) -> None:
        if agent in self._views and len(self._moments) < MOST_MOMENTS:
            self._moments.append(Moment(caption, self._views[agent]))

    def _on_progress(self, message: Evaluation) -> None:
        satisfied = sum(1 for p in message.propositions if p.satisfied)
        state = (round(float(message.percent_complete), 4), satisfied)
        if message.propositions and state != self._progress:
            self._progress = state
            stamp = self._since(seconds(message.header.stamp))
            self._say(story.progress_line(stamp, state[0], satisfied, len(message.propositions)))

    def _on_result(self, message: Evaluation) -> None:
        self._result = message

    def _on_feedback(self, message: Any) -> None:
        feedback = message.feedback
        pairs = list(zip(feedback.agents, feedback.calls, strict=False))
        new = [(agent, call) for agent, call in pairs if call and self._plan.get(agent) != call]
        reasons = {agent: story.reason_of(feedback.plan, agent, call) for agent, call in new}
        if feedback.plan not in ("", self._why) and not any(reasons.values()):
            self._say(story.why_line(self._now_s, feedback.plan))
        self._why = feedback.plan
        for agent, call in new:
            self._say(story.decided_line(self._now_s, agent, call, reasons[agent]))
        self._plan.update(pairs)

    # The run

    def _begin(self) -> None:
        if not self._client.server_is_ready():
            self._waited_s += 0.2
            if self._waited_s > self._wait_s:
                raise PlannerError(f"no task planner answered within {self._wait_s:.0f} s")
            return
        idle = [agent for agent in self._agents if not self._may_move[agent]]
        if idle:
            if not self._told_to_wait:
                self._say(f"{', '.join(idle)}: claim, power_on and stand; then the task begins")
            self._told_to_wait = True
            return
        self._timer.cancel()
        if self.executor is not None:
            self.executor.create_task(self._run)

    async def _run(self) -> None:
        self._say(f'task: "{self._episode.instruction}"')
        self._say(f"in {self._house.name}, by {', '.join(self._agents)}")
        goal = FollowInstruction.Goal(instruction=self._episode.instruction, agents=self._agents)
        self._heard_s = time.monotonic()
        for _ in range(MOST_ASKINGS):
            result = await self._ask(goal)
            while result is None and not self._accepted:
                # The middleware lists a killed server for a while and gives it goals.
                if time.monotonic() - self._heard_s > self._wait_s:
                    raise PlannerError(f"no task planner answered within {self._wait_s:.0f} s")
                result = await self._ask(goal)
            self._heard_s = time.monotonic()
            if result is None:
                lost = "the task planner died"
            elif result.code == WORLD_LOST:
                lost = result.text
                self._forget()
            else:
                break
            self._say(f"{lost}; the instruction is given again")
        else:
            raise PlannerError(f"the instruction was lost {MOST_ASKINGS} times: {lost}")
        self._say(f"planner: {result.text}")
        self._ended_s = self._judged_s = time.monotonic()
        self._timer = self.create_timer(0.1, self._conclude)

    async def _ask(self, goal: FollowInstruction.Goal) -> Any:
        """The result of the instruction, or None where the server died before it had one."""
        while not self._client.server_is_ready():
            await self._pause(0.2)
        self._servers, sent_s = self._ends.servers(), time.monotonic()
        self._accepted = False
        answer: Future[Any] = Future()
        sent = self._client.send_goal_async(goal, self._on_feedback)
        sent.add_done_callback(partial(self._on_accepted, answer))
        while not answer.done():
            if self._ends.lost_server(self._servers):
                return None
            patience_s = accept_patience_s(self._servers)
            if not self._accepted and time.monotonic() - sent_s > patience_s:
                return None
            await self._pause(0.2)
        return answer.result()

    def _on_accepted(self, answer: Future[Any], sent: Any) -> None:
        handle = sent.result()
        self._accepted, self._servers = True, self._ends.takers()
        if not handle.accepted:
            answer.set_exception(PlannerError("the task planner refused the instruction"))
            return
        ended = handle.get_result_async()
        ended.add_done_callback(lambda done: answer.set_result(done.result().result))

    async def _pause(self, seconds: float) -> None:
        """Lets the executor do other work for a while."""
        over: Future[None] = Future()

        def end() -> None:
            if not over.done():
                over.set_result(None)

        timer = self.create_timer(seconds, end)
        await over
        self.destroy_timer(timer)

    def _forget(self) -> None:
        """The world began anew: what was done before is no part of the run."""
        for way in self._ways.values():
            way.clear()
        self._picked_at.clear()
        self._moves.clear()
        self._moments.clear()
        self._found.clear()
        self._progress = (-1.0, -1)

    def _conclude(self) -> None:
        verdict = self._result
        if verdict is None:
            wall_s = time.monotonic()
            if wall_s - self._ended_s > VERDICT_WAIT_S:
                raise PlannerError("no verdict came from the evaluator")
            if wall_s - self._judged_s > ASK_JUDGE_EVERY_S and self._judge.service_is_ready():
                # The task planner asked already, but the judge may have died since.
                self._judged_s = wall_s
                self._judge.call_async(Trigger.Request())
            return
        self._timer.cancel()
        self.succeeded = verdict.status == Evaluation.SUCCEEDED
        if verdict.explanation:
            self._say(f"why: {verdict.explanation}")
        self._say(
            story.verdict_line(
                self.succeeded,
                float(verdict.percent_complete),
                int(verdict.sim_step),
                {"bag": self._bag, "picture": self._draw()},
            )
        )
        rclpy.try_shutdown()

    def _draw(self) -> str:
        """The picture's path; "" where it cannot be kept, which changes no verdict."""
        path = self._folder / "run.png"
        title = f"{self._episode.episode_id}: {self._episode.instruction}"
        try:
            save(draw_run(self._house, title, self._ways, self._moves, self._moments), path)
        except PlannerError as error:
            self._say(f"no picture: {error}")
            return ""
        return str(path)

    def _say(self, text: str) -> None:
        print(text, flush=True)


def _place_in(message: SkillReport) -> Point | None:
    """Where a report says that the thing was picked up or put down, map frame."""
    evidence = {item.key: item.value for item in message.evidence}
    words = evidence.get("position_m", "").split(",")
    return (float(words[0]), float(words[1])) if len(words) == 3 else None


def main() -> int:
    """Runs the node until the verdict; 0 only on success."""
    nodes: list[NarratorNode] = []

    def make() -> NarratorNode:
        nodes.append(NarratorNode())
        return nodes[0]

    status = run_node(make)
    return status if status or (nodes and nodes[0].succeeded) else 1
