"""Node `narrator`: sends the instruction, prints the story, ends the run with a verdict."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import OccupancyGrid, Odometry
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import (
    Evaluation,
    InstructStatus,
    MemoryUpdate,
    Operation,
    SkillReport,
    WorldGraph,
)
from pydantic import JsonValue
from rclpy.client import Client
from rclpy.node import Node
from sensor_msgs.msg import Image
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

from planner.episodes.drawing.cli import draw_understood, write_picture
from planner.evaluation.as_understood import read_understood
from planner.evaluation.perceived import verdict_steps
from planner.evaluation.progress import is_understood
from planner.grounding.records import request_words
from planner.houses.marks import Move, Point
from planner.narrator import story
from planner.narrator.picture import AgentPaths, Moment, draw_run, save
from planner.narrator.story import Event, Kind
from planner.parts.calls import acted_call
from planner.ros import parameters, qos
from planner.ros.camera_input import FrameTree
from planner.ros.clients import WaitingNotice, wall_clock
from planner.ros.conversions import map_record, rgb_array
from planner.ros.guard import RECORDER_STATUS, essential, status_name
from planner.ros.lifecycle import run_node
from planner.ros.parameters import builds_map
from planner.ros.skill_client import InstructClient, no_server_message
from planner.ros.subscriptions import listen, reader
from planner.world import topics
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.memory_wire import stamp_seconds
from planner.world.observation import RgbImage
from planner.world.skill import SkillCode, SkillName
from planner.world.topics import InstructionCode, InstructState, one_line
from planner.world.wire import graph_record

# The story of a run, from the topics that report it.


class StorySubscriber:
    """Turns what is seen, decided, done and evaluated into events."""

    def __init__(self, node: Node, emit: Callable[[Event], None]) -> None:
        """Subscribes; `emit` gets each event."""
        self._emit = emit
        self._since = story.StoryClock().since
        # The story's time: that of the newest message.
        self.now_s = 0.0
        # Objects found but not yet located by a graph: name and time.
        self._found: dict[str, float] = {}
        self._progress = (-1.0, -1)
        self._goal_id = ""
        # Of the followed instruction; None before the first message about it.
        self.standing: InstructStatus | None = None
        self._calls: dict[str, str] = {}
        self._plan = ""
        listen(node, MemoryUpdate, topics.MEMORY_UPDATES, self._on_memory, qos.EVENTS)
        self._read_graph = reader(node, WorldGraph, topics.WORLD_GRAPH)
        node.create_subscription(
            WorldGraph, topics.WORLD_GRAPH, self._on_graph, qos.STATE_INPUT, raw=True
        )
        listen(node, SkillReport, topics.SKILL_RESULTS, self._on_skill, qos.EVENTS)
        listen(node, Evaluation, topics.EVALUATION, self._on_progress, qos.EVENTS)
        listen(node, InstructStatus, topics.INSTRUCT_STATUS, self._on_status, qos.EVENTS_FROM_START)

    def follow(self, goal_id: str) -> None:
        """Reports only the instruction with this id."""
        self._goal_id, self.standing = goal_id, None
        self._calls.clear()
        self._plan = ""

    def at(self, stamp_s: float) -> float:
        """The story's time, given a new stamp of the world's clock.

        Late messages do not turn it back.
        """
        self.now_s = max(self.now_s, self._since(stamp_s))
        return self.now_s

    def forget(self) -> None:
        """Drops everything: the world was reset, so earlier events are no part of the run."""
        self._found.clear()
        self._progress = (-1.0, -1)
        self.now_s = 0.0

    def _on_memory(self, message: MemoryUpdate) -> None:
        stamp_s = stamp_seconds(message.header.stamp)
        self._found |= {
            operation.entity.name: stamp_s
            for operation in message.operations
            if operation.kind == Operation.ADD and not operation.entity.is_furniture
        }

    def _on_graph(self, data: bytes) -> None:
        """Reports where new objects are; graphs are frequent and parsed only for that."""
        if not self._found:
            return
        message = self._read_graph(data)
        if message is None:
            return
        nodes = graph_record(message).nodes
        known = {name: stamp_s for name, stamp_s in self._found.items() if name in nodes}
        sights = [story.Sighting.of(nodes[name], nodes) for name in known]
        for event in story.seen_events(self.at(max(known.values(), default=0.0)), sights):
            self._emit(event)
        for name in known:
            del self._found[name]

    def _on_skill(self, message: SkillReport) -> None:
        stamp_s = self.at(stamp_seconds(message.header.stamp))
        agent, call, code, text = message.agent, message.call, int(message.code), message.text
        line = story.ended_line(stamp_s, agent, call, code, text)
        fields = {"agent": agent, "call": call, "code": code, "text": text}
        self._emit(Event(Kind.ENDED, stamp_s, line, fields))

    def _on_progress(self, message: Evaluation) -> None:
        satisfied = sum(1 for p in message.propositions if p.satisfied)
        percent, total = round(float(message.percent_complete), 4), len(message.propositions)
        if not total or (percent, satisfied) == self._progress or not self._is_judged:
            return
        self._progress = (percent, satisfied)
        stamp_s = self.at(stamp_seconds(message.header.stamp))
        line = story.progress_line(stamp_s, percent, satisfied, total)
        fields = {"percent_complete": percent, "satisfied": satisfied, "propositions": total}
        self._emit(Event(Kind.JUDGED, stamp_s, line, fields))

    @property
    def _is_judged(self) -> bool:
        """Whether the evaluator's goal is that of the followed instruction."""
        return self.standing is not None and bool(self.standing.goal)

    def _on_status(self, message: InstructStatus) -> None:
        if message.id != self._goal_id or not self._goal_id:
            return
        before, self.standing = self.standing, message
        stamp_s = self.at(stamp_seconds(message.header.stamp))
        if before is None or (before.state, before.agents) != (message.state, message.agents):
            state = InstructState(message.state).name.lower()
            fields: dict[str, JsonValue] = {
                "state": state,
                "agents": [str(agent) for agent in message.agents],
                "has_goal": bool(message.goal),
            }
            self._emit(Event(Kind.STATE, stamp_s, "", fields))
        if before is None or before.goal != message.goal:
            self._emit_understood(stamp_s, str(message.goal))
        if message.state == InstructStatus.WAITING and message.question:
            if before is None or before.question != message.question:
                line = story.question_line(stamp_s, message.question)
                self._emit(Event(Kind.QUESTION, stamp_s, line, {"question": message.question}))
        elif message.state == InstructStatus.RUNNING:
            self._emit_decisions(stamp_s, message)

    def _emit_understood(self, stamp_s: float, goal: str) -> None:
        found = read_understood(goal)
        if found is not None:
            said = [request_words(request) for request in found.goal.requests]
            line = story.understood_line(stamp_s, said)
            self._emit(Event(Kind.UNDERSTOOD, stamp_s, line, {"requests": [*said]}))

    def _emit_decisions(self, stamp_s: float, message: InstructStatus) -> None:
        pairs = list(zip(message.agents, message.calls, strict=False))
        new = [(agent, call) for agent, call in pairs if call and self._calls.get(agent) != call]
        reasons = {agent: story.reason_of(message.plan, agent, call) for agent, call in new}
        shown = any(reasons.values()) or story.has_only_calls(message.plan, dict(pairs))
        if message.plan not in ("", self._plan) and not shown:
            line = story.reason_line(stamp_s, message.plan)
            self._emit(Event(Kind.PLAN, stamp_s, line, {"plan": message.plan}))
        self._plan = message.plan
        for agent, call in new:
            line = story.decided_line(stamp_s, agent, call, reasons[agent])
            said = {"agent": agent, "call": call, "reason": reasons[agent]}
            self._emit(Event(Kind.BEGINS, stamp_s, line, said))
        self._calls.update(pairs)


# Wall seconds between two samples of the agents' positions.
SAMPLE_PERIOD_S = 0.05
MAX_MOMENTS = 10
# Wall seconds.
VERDICT_WAIT_S, ASK_JUDGE_EVERY_S = 30.0, 4.0
# Without an episode the task planner says who acts, once it has the instruction. A robot that
# waits for its operator is a single agent.
ATTENDED = ("agent_0",)


class NarratorNode(Node):
    """A client of the task planner without privileges."""

    def __init__(self) -> None:
        """Reads the episode, if there is one.

        Raises:
            PlannerError: if the episode, the house or a parameter cannot be used.
        """
        super().__init__("narrator")
        waits = self._declare()
        self.succeeded = False
        self._may_move = dict.fromkeys(self._agents or (ATTENDED if waits else ()), not waits)
        self._logged_wait = False
        self._frames = FrameTree(self, self._on_frames)
        self._paths = AgentPaths(self._frames)
        self._looked_s = 0.0
        self._views: dict[str, RgbImage] = {}
        self._picked_at: dict[str, Point] = {}
        self._moves: list[Move] = []
        self._moments: list[Moment] = []
        self._result: Evaluation | None = None
        self._outcome, self._done = "", False
        self._bag_lacks = ""
        self._waited_s = 0.0
        self._moving = False
        self._story = StorySubscriber(self, self._on_event)
        self._listen()
        self._instruct = InstructClient(self, self._story.follow)
        self._answer_publisher = self.create_publisher(String, topics.INSTRUCT_ANSWER, qos.EVENTS)
        self._judge: Client[Any, Any] = self.create_client(Trigger, topics.FINISH_EVALUATION)
        # Wall clock: it must run before anybody publishes simulated time.
        self._timer = self.create_timer(0.2, essential(self._begin), clock=wall_clock())
        self._notice = WaitingNotice(self, self._missing)

    def _declare(self) -> bool:
        """Reads the parameters; returns whether the agents wait for an operator."""
        episode = parameters.text(self, "episode", "", "name or file; empty = only the house")
        house = parameters.text(self, "house", "", "name or file; empty = the task planner's")
        words = parameters.text(self, "instruction", "", "instruction; empty = the episode's")
        agents = parameters.whole(self, "agents", 0, "agents to use; 0 = all", min_value=0)
        answers = parameters.text(
            self, "answers", "", "answers to the planner's questions, in turn, separated by ;"
        )
        self._answers = deque(filter(None, map(str.strip, answers.split(";"))))
        waits = parameters.flag(
            self, "attended", False, "whether an operator enables the agents before the task begins"
        )
        self._folder = Path(parameters.text(self, "record", "", "folder for the picture"))
        self._bag = parameters.text(self, "bag", "", "path of the bag, for the last line")
        self._has_pictures = parameters.flag(
            self, "pictures", True, "whether the agents' cameras are watched for the picture"
        )
        self._wait_s = parameters.number(
            self, "wait", 90.0, "seconds to wait for the task planner", min_value=1.0
        )
        self._builds_map = builds_map(self)
        self._floor: OccupancyGrid | None = None
        self._episode: Episode | None = None
        self._house: House | None = None
        self._agents: list[str] = []
        if episode:
            self._episode, self._house = load_episode(episode)
            uids = [placement.uid for placement in self._episode.agents]
            self._agents = uids[: agents or len(uids)]
        elif house:
            self._house = load_house(house)
        self._words = words or (self._episode.instruction if self._episode else "")
        if not self._words:
            raise PlannerError(
                "narrator: expected an episode with an instruction, or an instruction"
            )
        return bool(waits)

    def _missing(self) -> list[str]:
        if self._instruct.is_ready:
            return []
        return [f"the action {self.resolve_service_name(topics.INSTRUCT)} of a task planner"]

    def _listen(self) -> None:
        for agent in self._may_move:
            if not self._may_move[agent]:
                topic = topics.of_agent(agent, topics.MOTION_ALLOWED)
                listen(self, Bool, topic, partial(self._on_allowed, agent), qos.LATCHED)
        for agent in self._agents:
            self._watch(agent)
        if self._builds_map:
            listen(self, OccupancyGrid, topics.MAP, self._on_map, qos.LATCHED)
        listen(self, SkillReport, topics.SKILL_RESULTS, self._on_skill, qos.EVENTS)
        listen(self, Evaluation, topics.EVALUATION_RESULT, self._on_result, qos.LATCHED)
        listen(self, DiagnosticArray, topics.DIAGNOSTICS, self._on_diagnostics, qos.DIAGNOSTICS)

    def _watch(self, agent: str) -> None:
        """Follows an agent's path, and its camera where pictures are wanted."""
        self._paths.follow(agent)
        listen(
            self,
            Odometry,
            topics.of_agent(agent, topics.ODOMETRY),
            partial(self._on_odometry, agent),
            qos.STATE_INPUT,
        )
        if not self._has_pictures:
            # Without a subscriber the bridge renders nothing.
            return
        listen(
            self,
            Image,
            topics.of_agent(agent, topics.colour_image("hand")),
            partial(self._on_view, agent),
            qos.IMAGE_INPUT,
        )

    # Callbacks

    def _on_map(self, message: OccupancyGrid) -> None:
        """Keeps the map that the robots build, for the picture."""
        self._floor = message

    def _on_event(self, event: story.Event) -> None:
        if event.kind is story.Kind.STATE and self._story.standing is not None:
            for agent in self._story.standing.agents:
                if agent not in self._paths.points:
                    self._watch(agent)
        if event.line:
            self._log(event.line)
        if event.kind is story.Kind.QUESTION and self._answers:
            answer = self._answers.popleft()
            self._answer_publisher.publish(String(data=answer))
            self._log(story.answer_line(event.stamp_s, answer))
        if event.kind is story.Kind.UNDERSTOOD and self._story.standing is not None:
            self._draw_understood(str(self._story.standing.goal))

    def _draw_understood(self, goal: str) -> None:
        """Draws what the planner has understood, before anything is carried out."""
        found = read_understood(goal)
        if found is None:
            return
        path = self._folder / "understood.png"
        try:
            picture = draw_understood(self._words, found.goal, self._house_now(), found.choices)
            write_picture(picture, path)
        except PlannerError as error:
            self._log(f"no picture of it: {error}")
        else:
            self._log(f"       as a picture: {path}")

    def _on_allowed(self, agent: str, message: Bool) -> None:
        self._may_move[agent] = message.data

    def _on_odometry(self, agent: str, message: Odometry) -> None:
        now_s = self._story.at(stamp_seconds(message.header.stamp))
        speed, turn = message.twist.twist.linear, message.twist.twist.angular
        if not self._moving and (speed.x or speed.y or turn.z):
            self._moving = True
            self._log(story.moving_line(now_s, agent))

    def _on_frames(self) -> None:
        if time.monotonic() - self._looked_s >= SAMPLE_PERIOD_S:
            self._looked_s = time.monotonic()
            self._paths.sample()

    def _on_view(self, agent: str, message: Image) -> None:
        self._views[agent] = rgb_array(message)

    def _on_skill(self, message: SkillReport) -> None:
        call = acted_call(message.call)
        moved = (SkillName.PICK, SkillName.PLACE, SkillName.REARRANGE)
        if call is None or message.code != SkillCode.SUCCESS or call.name not in moved:
            return
        thing, place = str(call.arguments[0]), _place_in(message)
        if call.name == SkillName.PICK and place:
            self._picked_at[thing] = place
        elif thing in self._picked_at and place:
            self._moves.append(Move(thing, self._picked_at.pop(thing), place))
        when = story.clock(self._story.at(stamp_seconds(message.header.stamp)))
        self._add_moment(message.agent, f"{when} {message.agent}\n{message.call}")

    def _add_moment(self, agent: str, caption: str) -> None:
        if agent in self._views and len(self._moments) < MAX_MOMENTS:
            self._moments.append(Moment(caption, self._views[agent]))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == status_name(self, RECORDER_STATUS):
                self._bag_lacks = status.message if status.level != DiagnosticStatus.OK else ""

    def _on_result(self, message: Evaluation) -> None:
        self._result = message

    # The run

    def _begin(self) -> None:
        if not self._instruct.is_ready:
            self._waited_s += 0.2
            if self._waited_s > self._wait_s:
                raise PlannerError(no_server_message(self._wait_s))
            return
        idle = [agent for agent, may_move in self._may_move.items() if not may_move]
        if idle:
            if not self._logged_wait:
                self._log(f"{', '.join(idle)}: claim, power_on and stand; then the task begins")
            self._logged_wait = True
            return
        self._timer.cancel()
        if self.executor is not None:
            self.executor.create_task(essential(self._run))

    async def _run(self) -> None:
        self._log(f'task: "{one_line(self._words)}"')
        where = f"in {self._house.name}" if self._house is not None else ""
        who = f"by {', '.join(self._agents)}" if self._agents else ""
        if where or who:
            self._log(", ".join(filter(None, (where, who))))
        goal = FollowInstruction.Goal(instruction=self._words, agents=self._agents)
        result = await self._instruct.follow(goal, self._wait_s, self._on_lost)
        self._outcome = story.outcome_line(InstructionCode.name_of(result.code), result.text)
        self._log(f"planner: {self._outcome}")
        self._done = result.code == InstructionCode.DONE
        self._ended_s = self._judged_s = time.monotonic()
        self._timer = self.create_timer(0.1, essential(self._finish), clock=wall_clock())

    def _on_lost(self, why: str, began_anew: bool) -> None:
        if began_anew:
            self._forget()
        self._log(f"{why}; sending the instruction again")

    def _forget(self) -> None:
        """Drops everything: the world was reset, so earlier events are no part of the run."""
        self._paths.clear()
        self._picked_at.clear()
        self._moves.clear()
        self._moments.clear()
        self._story.forget()

    def _has_goal(self) -> bool:
        """Whether there is a goal to evaluate; free text has none."""
        standing = self._story.standing
        return bool(standing.goal) if standing is not None else self._episode is not None

    def _finish(self) -> None:
        if not self._has_goal():
            self._timer.cancel()
            self.succeeded = self._done
            self._say_what_is_missing()
            self._log(story.no_verdict_line(self._outcome, self._places()))
            rclpy.try_shutdown()
            return
        verdict = self._result
        if verdict is None:
            wall_s = time.monotonic()
            if wall_s - self._ended_s > VERDICT_WAIT_S:
                raise PlannerError("no verdict came from the evaluator")
            if wall_s - self._judged_s > ASK_JUDGE_EVERY_S and self._judge.service_is_ready():
                # The task planner asked already, but the evaluator may have died since.
                self._judged_s = wall_s
                self._judge.call_async(Trigger.Request())
            return
        self._timer.cancel()
        self.succeeded = verdict.status == Evaluation.SUCCEEDED
        self._say_what_is_missing()
        if verdict.explanation:
            self._log(f"why: {verdict.explanation}")
        self._log(
            story.verdict_line(
                self.succeeded,
                float(verdict.percent_complete),
                verdict_steps(verdict),
                self._places(),
                understood=is_understood(verdict.variant),
            )
        )
        rclpy.try_shutdown()

    def _say_what_is_missing(self) -> None:
        if self._bag_lacks:
            self._log(f"the bag is not complete: {self._bag_lacks}")

    def _places(self) -> dict[str, str]:
        return {"bag": self._bag, "picture": self._draw()}

    def _draw(self) -> str:
        """Path of the picture; "" if it could not be written, which changes no verdict."""
        path = self._folder / "run.png"
        title = one_line(self._words)
        if self._episode is not None:
            title = f"{self._episode.episode_id}: {title}"
        try:
            house = self._house_now()
            floor = map_record(self._floor) if self._floor is not None else None
            points, moves = self._paths.points, self._moves
            save(draw_run(house, title, points, moves, self._moments, floor=floor), path)
        except PlannerError as error:
            self._log(f"no picture: {error}")
            return ""
        return str(path)

    def _house_now(self) -> House:
        """The house, with the episode's things if there is an episode."""
        standing = self._story.standing
        name = str(standing.house) if standing is not None else ""
        house = self._house or load_house(name)
        if self._episode is None:
            return house
        return house.model_copy(update={"objects": self._episode.objects})

    def _log(self, text: str) -> None:
        print(text, flush=True)


def _place_in(message: SkillReport) -> Point | None:
    """Where the object was picked up or put down according to a report, map frame."""
    return (message.position.x, message.position.y) if message.has_position else None


def main() -> int:
    """Runs the node until the verdict; 0 only on success."""
    nodes: list[NarratorNode] = []

    def make() -> NarratorNode:
        nodes.append(NarratorNode())
        return nodes[0]

    status = run_node(make)
    return status if status or (nodes and nodes[0].succeeded) else 1
