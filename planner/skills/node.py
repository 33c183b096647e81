"""The skill-executor node: every agent's `skill` action over its `primitive` action."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from nav_msgs.msg import OccupancyGrid
from planner_msgs.msg import SkillReport, WorldGraph, WorldGraphNode, WorldInfo
from rclpy.publisher import Publisher
from std_msgs.msg import String

from planner.memory.features import ViewEncoder
from planner.models.model_choice import ModelChoice, make_model
from planner.ros import parameters, qos
from planner.ros.camera_input import NewestPictures
from planner.ros.clients import WaitingNotice, wall_clock
from planner.ros.conversions import map_record
from planner.ros.heartbeat import HeartbeatRelay
from planner.ros.lifecycle import ManagedNode, run_node
from planner.ros.lockstep import LockstepChannel, LockstepPublisher
from planner.ros.memory_messages import ModelTrace
from planner.ros.parameters import builds_map, declare_options
from planner.ros.primitives import Patience, PrimitiveClient
from planner.ros.skill_client import report_message
from planner.ros.subscriptions import listen
from planner.skills.attempt import Eye, SkillOptions
from planner.skills.executor import SkillExecutor
from planner.skills.find_model import DEADLINE_S, FindModel
from planner.skills.kind import SKILL_KIND_OPTIONS, SkillChoice
from planner.skills.part import SKILLS
from planner.skills.results import Team
from planner.skills.service.node import SkillServer
from planner.skills.tools import load_view_encoder
from planner.world import topics
from planner.world.agents import capabilities_of
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.floor_grid import preload_path_search
from planner.world.floor_map import FloorMap
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.memory_wire import stamp_seconds
from planner.world.skill import SkillCall, SkillResult
from planner.world.wire import graph_record

# Polling while a call is running; ends of primitives are handled immediately.
TIMER_PERIOD_S = 0.05
# Wall seconds that a robot which cannot be reached is waited for; one whose executive is silent for
# so long sits down (executive.sit_after_s).
LINK_WAIT_S = 10.0
# Wall seconds after which an agent missing from the world graph is no longer served.
GONE_AFTER_S = 5.0


@dataclass(slots=True)
class _Agent:
    """The server of one agent."""

    kind: str
    heartbeat: HeartbeatRelay
    port: PrimitiveClient
    server: SkillServer
    speech: Publisher[String]
    missing_s: float | None = None

    def is_gone(self, kind: str | None) -> bool:
        """Whether it has changed its kind, or was missing for too long; None = missing.

        A restarted memory publishes the agents slightly later than the house.
        """
        if kind is not None:
            self.missing_s = None
            return kind != self.kind
        wall_s = time.monotonic()
        if self.missing_s is None:
            self.missing_s = wall_s
        return wall_s - self.missing_s > GONE_AFTER_S


class SkillExecutorNode(ManagedNode):
    """Serves all agents in the world graph."""

    def __init__(self) -> None:
        """Reads the parameters.

        Raises:
            PlannerError: for an invalid parameter, house or episode.
        """
        super().__init__("skill_executor")
        try:
            self._layout = self._declare_layout()
            self._options = self._declare_options()
            self._link_wait_s = parameters.number(
                self,
                "link_wait",
                LINK_WAIT_S,
                "wall seconds that a call waits for a lost link",
                min_value=0.0,
                max_value=600.0,
            )
            self._choice = self._declare_choice()
            self._find_model = self._declare_find_model()
            self._encoder = self._declare_encoder()
            self._builds_map = builds_map(self)
        except PlannerError:
            super().destroy_node()
            raise
        preload_path_search()

    def configure(self) -> None:
        """Subscribes; agents are served once they appear in the world graph."""
        self._team = Team()
        self._agents: dict[str, _Agent] = {}
        self._graph: WorldGraph | None = None
        self._belief: Belief | None = None
        self._pictures = NewestPictures(self)
        self._floor: FloorMap | None = None
        if self._builds_map:
            listen(self, OccupancyGrid, topics.MAP, self._on_map, qos.LATCHED)
        self._logged: set[str] = set()
        self._now_s = self._graph_s = 0.0
        self._lockstep = LockstepPublisher(self, LockstepChannel.SKILLS, Counter())
        self._trace = ModelTrace(self, topics.SKILLS_TRACE, Counter())
        self._reports = self.create_publisher(SkillReport, topics.SKILL_RESULTS, qos.EVENTS)
        listen(self, WorldGraph, topics.WORLD_GRAPH, self._on_graph, qos.LATCHED)
        listen(self, WorldInfo, topics.WORLD_INFO, self._on_world, qos.LATCHED)
        # Steady clock: the watchdog must run while simulated time is paused.
        self._timer = self.create_timer(
            TIMER_PERIOD_S, self._on_timer, clock=wall_clock(), autostart=False
        )
        WaitingNotice(self, self._missing)

    def deactivate(self) -> None:
        """Stops the agents: their calls end as canceled."""
        for agent in self._agents.values():
            agent.server.cancel()

    def cleanup(self) -> None:
        """Stops the agents; after a ROS shutdown the bridge does so when its client disappears."""
        if self.context.ok():
            self._drop_all()

    # Set-up

    def _declare_layout(self) -> House | None:
        house = parameters.text(self, "house", "", "name or file; empty = the bridge's")
        episode = parameters.text(self, "episode", "", "name or file, for its house")
        if house:
            return load_house(house).layout
        return load_episode(episode)[1].layout if episode else None

    def _declare_options(self) -> SkillOptions:
        d = SkillOptions()

        def metres(name: str, default: float, what: str) -> float:
            return parameters.number(self, name, default, what, min_value=0.0, max_value=100.0)

        def seconds(name: str, default: float, what: str) -> float:
            return parameters.number(self, name, default, what, min_value=0.1, max_value=86_400.0)

        return SkillOptions(
            grounding_gate_m=metres("grounding_gate", d.grounding_gate_m, "metres to a surface"),
            adjust_m=metres("adjust", d.adjust_m, "metres to step closer at furniture"),
            pick_retries=parameters.whole(
                self,
                "pick_retries",
                d.pick_retries,
                "tries after the first",
                min_value=0,
                max_value=10,
            ),
            place_retries=parameters.whole(
                self,
                "place_retries",
                d.place_retries,
                "tries after the first",
                min_value=0,
                max_value=10,
            ),
            wait_s=seconds("wait", d.wait_s, "seconds that Wait[] takes"),
            open_on_explore=parameters.flag(
                self, "open_on_explore", d.open_on_explore, "whether Explore opens furniture"
            ),
            lenient_open=parameters.flag(
                self, "lenient_open", d.lenient_open, "whether opening a table succeeds"
            ),
            rearrange_opens=parameters.flag(
                self, "rearrange_opens", d.rearrange_opens, "whether Rearrange opens furniture"
            ),
            explore_rounds=parameters.whole(
                self,
                "explore_rounds",
                d.explore_rounds,
                "rounds of ExploreByView",
                min_value=1,
                max_value=20,
            ),
            explore_steps=parameters.whole(
                self,
                "explore_steps",
                d.explore_steps,
                "steps in each round of ExploreByView",
                min_value=1,
                max_value=40,
            ),
            timeouts_s={
                skill: seconds(f"timeout_{skill.lower()}", part.timeout_s, f"of {skill}")
                for skill, part in SKILLS.usable().items()
                if part.abilities
            },
        )

    def _declare_choice(self) -> SkillChoice:
        choice = SkillChoice.of(declare_options(self, SKILL_KIND_OPTIONS))
        # A file that cannot be used ends the node, rather than each call.
        choice.check()
        return choice

    def _declare_find_model(self) -> FindModel | None:
        name = parameters.text(self, "find_model", "", "model of the Find tools; empty = by rule")
        url = parameters.text(self, "find_model_url", "", "base URL of its server, .../v1")
        deadline_s = parameters.number(
            self,
            "find_model_timeout",
            DEADLINE_S,
            "timeout of one reply, seconds",
            min_value=0.1,
            max_value=600.0,
        )
        model = make_model(ModelChoice(name, url))
        if model is None:
            return None
        return FindModel(
            model, deadline_s=deadline_s, on_call=lambda call: self._trace.publish(call)
        )

    def _declare_encoder(self) -> ViewEncoder | None:
        what = "SigLIP or CLIP class folder, for ExploreByView"
        return load_view_encoder(parameters.text(self, "explore_encoder", "", what))

    def _missing(self) -> list[str]:
        found = []
        if self._layout is None:
            found.append(
                f"{self.resolve_topic_name(topics.WORLD_INFO)} of a bridge to say the house"
            )
        if self._graph is None:
            found.append(f"{self.resolve_topic_name(topics.WORLD_GRAPH)} of a memory")
        elif not self._agents:
            found.append("a memory that knows of an agent")
        return found

    # Inputs

    def _on_world(self, info: WorldInfo) -> None:
        """Switches to the house that the bridge has loaded."""
        if info.layout and (self._layout is None or info.layout != self._layout.name):
            self._enter(info.layout)

    def _enter(self, name: str) -> None:
        try:
            layout = load_house(name).layout
        except PlannerError as error:
            self._log_once(f"the bridge is in a house that is not known here: {error}")
            return
        self._drop_all()
        self._layout = layout
        self._serve()

    def _on_map(self, message: OccupancyGrid) -> None:
        try:
            self._floor = map_record(message)
        except PlannerError as error:
            self._log_once(f"{topics.MAP}: {error}")

    def _on_graph(self, message: WorldGraph) -> None:
        stamp_s = stamp_seconds(message.header.stamp)
        if stamp_s < self._graph_s:
            # The world was reset: no agent stands where a primitive of before left it.
            for agent in self._agents.values():
                agent.port.forget()
        self._graph_s = stamp_s
        self._graph, self._belief = message, None
        self._serve()

    def _serve(self) -> None:
        """Starts serving new agents; one that changed its kind gets a new server."""
        if self._layout is None or self._graph is None:
            return
        kinds = {
            node.name: node.class_name
            for node in self._graph.nodes
            if node.kind == WorldGraphNode.KIND_AGENT
        }
        for name, agent in list(self._agents.items()):
            if agent.is_gone(kinds.get(name)):
                self._drop(name)
        for name, kind in kinds.items():
            if name not in self._agents:
                self._take_on(name, kind, self._layout)

    def _take_on(self, name: str, kind: str, layout: House) -> None:
        capabilities = capabilities_of(kind)
        if capabilities is None:
            self._log_once(f"{name}: config/agents.yaml has no body of kind {kind!r}")
            return
        # Created before the actions, so that a client that finds these can send heartbeats.
        heartbeat = HeartbeatRelay(self, name)
        port = PrimitiveClient(
            self,
            name,
            capabilities,
            self._located(name),
            self._on_timer,
            heartbeat.relay_pending,
            Patience(self._link_wait_s, lambda: heartbeat.heard_s),
        )
        speech = self.create_publisher(String, topics.of_agent(name, topics.SPEECH), qos.EVENTS)
        try:
            executor = SkillExecutor(
                layout,
                port,
                self._newest_belief,
                self._options,
                team=self._team,
                report=self._reporter(name),
                find_model=self._find_model,
                eye=self._eye(name),
                floor=(lambda: self._floor) if self._builds_map else None,
                choice=self._choice,
                speak=lambda text: speech.publish(String(data=text)),
            )
        except PlannerError as error:
            port.destroy()
            heartbeat.destroy()
            self.destroy_publisher(speech)
            self._log_once(f"{name} is not served: {error}")
            return
        server = SkillServer(self, executor, self._wake, self._lockstep, lambda: self.refusal)
        self._agents[name] = _Agent(kind, heartbeat, port, server, speech)
        self.get_logger().info(f"serves {name}, a {kind}, in {layout.name}")

    def _eye(self, agent: str) -> Eye | None:
        """Subscribes to an agent's camera where there is something to compare pictures with."""
        if self._encoder is None:
            return None
        self._pictures.add(agent)
        return Eye(self._encoder, self._pictures.image)

    def _drop_all(self) -> None:
        for name in list(self._agents):
            self._drop(name)
        self._team.forget()
        self._floor = None

    def _drop(self, name: str) -> None:
        agent = self._agents.pop(name)
        agent.server.destroy()
        agent.port.destroy()
        agent.heartbeat.destroy()
        self.destroy_publisher(agent.speech)

    # Requests of executors

    def _newest_belief(self) -> Belief:
        if self._belief is None:
            # Converted only when a skill reads it: graphs arrive more often than calls.
            graph = self._graph if self._graph is not None else WorldGraph()
            self._belief = graph_record(graph)
        return self._belief

    def _located(self, agent: str) -> Callable[[], tuple[Pose, float] | None]:
        def located() -> tuple[Pose, float] | None:
            node = self._newest_belief().nodes.get(agent)
            if node is None:
                return None
            x, y, _ = node.position_m
            return Pose.planar(x, y, node.heading_rad or 0.0), node.stamp_s

        return located

    def _reporter(self, agent: str) -> Callable[[SkillCall, SkillResult], None]:
        def report(call: SkillCall, result: SkillResult) -> None:
            now_s = float(self.get_clock().now().nanoseconds) * 1e-9
            # This node's clock may be behind the body's: who waits for the memory to hear of a
            # result waits for the time in that result.
            ended_s = max(now_s, result.ended_s or 0.0)
            self._reports.publish(report_message(agent, call, result, ended_s))

        return report

    # Execution

    def _wake(self) -> None:
        if self._timer.is_canceled():
            self._timer.reset()

    def _on_timer(self) -> None:
        now_s = float(self.get_clock().now().nanoseconds) * 1e-9
        if now_s < self._now_s:
            for agent in self._agents.values():
                agent.port.forget()
        self._now_s = now_s
        for agent in list(self._agents.values()):
            agent.server.beat()
        if not any(agent.server.busy for agent in self._agents.values()):
            self._timer.cancel()

    def _log_once(self, text: str) -> None:
        if text not in self._logged:
            self._logged.add(text)
            self.get_logger().error(text)


def main() -> int:
    """Runs the node until it is asked to stop; returns the process's exit status."""
    return run_node(SkillExecutorNode)
