"""What the bridge publishes of the true world and of persons, and its parameters."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from geometry_msgs.msg import PoseArray
from planner_msgs.msg import WorldInfo, WorldState
from rclpy.node import Node

from planner.ros import conversions, parameters, qos
from planner.ros.conversions import header, point_m, pose_message
from planner.ros.guard import SafePublisher
from planner.ros.lockstep import LockstepChannel, LockstepPublisher, LockstepSubscriber
from planner.ros.parameters import declare
from planner.ros.sightings import StateMessages
from planner.ros.subscriptions import bounds_of
from planner.world import topics
from planner.world.files import read_model
from planner.world.geometry import Pose, Vec3
from planner.world.memory_wire import stamp_seconds
from planner.world.state import StateUpdate, UpdateEncoder
from sim_bridge.agent.node import Sensing
from sim_bridge.backend import CAMERA_HZ, CAMERAS
from sim_bridge.opening import Opened
from sim_bridge.pacing import MIN_NICE, IdleTime, Lockstep, Pace, Periodic, TimeMode
from sim_bridge.runtime import Runtime
from sim_bridge.safety.options import SafetyOptions, default_safety
from sim_bridge.safety.verdicts import FRAME

# Wall seconds after the last change until a keyframe repeats it, for readers that missed it.
KEYFRAME_WAIT_S = 1.0
# Wall seconds after a state until it is repeated for a reader that has not acknowledged it, and how
# often. A message that was lost on the way is sent again only when its reader learns of a newer
# one, or after seconds: the last state of a run might come too late for a bag.
ACKNOWLEDGE_WAIT_S, MAX_REPEATS = 0.4, 5


class WorldStateTopic:
    """Publishes changes, and a keyframe for each late joiner."""

    def __init__(self, node: Node, runtime: Runtime, losses: Counter[str]) -> None:
        self._runtime = runtime
        self._publisher = SafePublisher(node, WorldState, topics.WORLD_STATE, qos.TRUTH, losses)
        self._encoder, self._messages = UpdateEncoder(), StateMessages()
        self._revision = -1
        # When the first change after the newest keyframe was sent, wall seconds.
        self._changed_since_s: float | None = None
        # When the newest message was sent, wall seconds, and how often its state may be repeated.
        self._sent_s = 0.0
        self._repeats_left = 0

    def begin(self) -> None:
        """Publishes the world that was just loaded.

        The message stays for late joiners until the next one: they get the beginning and, from
        the next call of `publish` on, the present.
        """
        self._revision = -1
        self._publish(begins=True)

    def publish(self) -> None:
        """Publishes the state if it changed or a subscriber joined."""
        if self._publisher.has_subscribers:
            self._publish(begins=False)

    def _publish(self, *, begins: bool) -> None:
        state, joined = self._runtime.world_state(), self._publisher.has_new_subscribers
        if state is None:
            return
        if state.revision != self._revision:
            self._revision = state.revision
            self._repeats_left = MAX_REPEATS
            self._send(self._encoder.encode(state, keyframe=begins or joined))
        elif joined:
            # It may find this publisher only after the message, and not ask for it.
            self._repeats_left = MAX_REPEATS
            self._repeat()

    def keep_readable(self, wall_s: float) -> None:
        """Repeats the newest state as a keyframe for readers that may not have it.

        That is, if no keyframe has followed a change for a while, or if a reader has not
        acknowledged the state.
        """
        since_s = self._changed_since_s
        if since_s is not None and wall_s - since_s >= KEYFRAME_WAIT_S:
            self._repeat()
        elif self._repeats_left and wall_s - self._sent_s >= ACKNOWLEDGE_WAIT_S:
            # A reader that died is listed for a while, hence the limit.
            if self._publisher.wait_for_acks(0.0):
                self._repeats_left = 0
                return
            self._repeats_left -= 1
            self._repeat()

    def _repeat(self) -> None:
        update = self._encoder.repeat()
        if update is not None:
            self._send(update)

    def _send(self, update: StateUpdate) -> None:
        sent = self._publisher.publish(self._messages.message(update))
        self._sent_s = time.monotonic()
        if sent and update.keyframe:
            self._changed_since_s = None
        elif self._changed_since_s is None:
            self._changed_since_s = time.monotonic()


# `/world/info`: the loaded world, so that a bag needs no files of the machine it is from.

TOPIC = topics.WORLD_INFO


class WorldInfoTopic:
    """Publishes each world that is loaded; the newest ones stay for late joiners.

    The texts of house and episode are ground truth: the evaluator and the recorder may read them,
    and no other node.
    """

    def __init__(
        self, node: Node, runtime: Runtime, backend: str, pace: Pace, losses: Counter[str]
    ) -> None:
        """Advertises the topic; `backend` is the name of the runtime's backend."""
        self._runtime, self._backend, self._pace = runtime, backend, pace
        self._publisher = SafePublisher(node, WorldInfo, TOPIC, qos.WORLDS, losses)

    def publish(self, opened: Opened) -> None:
        """Publishes the world that the runtime has just loaded."""
        self._publisher.publish(self._message(opened))

    def _message(self, opened: Opened) -> WorldInfo:
        backend = self._runtime.backend
        # A robot's house is known only if the user named it; a simulator always has one.
        known = backend.simulated or opened.named
        agents = self._runtime.agents
        return WorldInfo(
            header=header(self._runtime.now_s(), "map"),
            backend=self._backend,
            simulated=backend.simulated,
            house=opened.house.name if known else "",
            layout=opened.house.name,
            house_json=opened.house.model_dump_json() if known else "",
            episode_id=opened.episode.episode_id,
            episode_json=opened.episode.model_dump_json() if opened.has_task else "",
            agents=list(agents),
            bodies=[backend.capabilities(agent).kind for agent in agents],
            seed=opened.seed,
            time_mode=str(self._pace.mode),
            rate=self._pace.rate,
            idle_time=str(self._pace.idle),
            version=_version(),
            sensors_json=self._runtime.sensors_json,
        )


def _version() -> str:
    """This software's version; "" in a source tree that was never installed."""
    try:
        return version("planner")
    except PackageNotFoundError:
        return ""


# The ROS side of lockstep: messages of memory, skills and planner to the world.


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


# `/people`: positions of persons, published by simulators, subscribed to with a real robot.

PEOPLE_TOPIC = topics.PEOPLE
RATE_HZ = 10.0


class PeopleTopic:
    """Publisher or subscriber of persons as poses in `map`, stamped with when they were seen."""

    def __init__(self, node: Node, runtime: Runtime, losses: Counter[str]) -> None:
        """Publishes with a simulator, subscribes with a real robot."""
        self._node, self._runtime = node, runtime
        self._bounds = bounds_of(PoseArray, f"/{PEOPLE_TOPIC}")
        self._last_problem = ""
        self._due = Periodic(RATE_HZ)
        self._publisher: SafePublisher | None = None
        if runtime.backend.simulated:
            self._publisher = SafePublisher(node, PoseArray, PEOPLE_TOPIC, qos.STATE, losses)
        else:
            node.create_subscription(PoseArray, PEOPLE_TOPIC, self._on_people, qos.STATE_INPUT)

    def restart(self) -> None:
        """Resets the schedule for a newly loaded world."""
        self._due.restart()

    def tick(self, now_s: float) -> None:
        """Publishes the true positions, if due."""
        if self._publisher is not None and self._due.due(now_s) and self._publisher.has_subscribers:
            self._publisher.publish(
                people_message(now_s, self._runtime.gate.people.true_positions())
            )

    def _on_people(self, message: PoseArray) -> None:
        stamp_s = stamp_seconds(message.header.stamp)
        now_s = self._node.get_clock().now().nanoseconds * 1e-9
        people = self._runtime.gate.people
        problem = self._bounds.problem(message, now_s)
        why = (
            people.unusable(f"the report is out of bounds: {problem}")
            if problem
            else people.report(
                [point_m(pose.position) for pose in message.poses],
                frame=message.header.frame_id,
                # Without a stamp they were seen on receipt.
                age_s=now_s - stamp_s if stamp_s else 0.0,
            )
        )
        if why and why != self._last_problem:
            self._node.get_logger().warning(f"{PEOPLE_TOPIC}: {why}")
        self._last_problem = why


def people_message(stamp_s: float, positions_m: Sequence[Vec3]) -> PoseArray:
    """Persons at these points of the map; orientations are unknown."""
    poses = [pose_message(Pose(point)) for point in positions_m]
    return PoseArray(header=header(stamp_s, FRAME), poses=poses)


# The bridge's parameters for time, sensing and safety.


def declare_pace(node: Node) -> Pace:
    """Declares how simulated time advances.

    Raises:
        PlannerError: for an invalid parameter.
    """
    mode = parameters.text(
        node, "time_mode", "paced", "what advances simulated time", choices=[*TimeMode]
    )
    idle = parameters.text(
        node, "idle_time", "run", "simulated time while no agent is busy", choices=[*IdleTime]
    )
    rate = parameters.number(
        node, "rate", 1.0, "simulated seconds per wall second", min_value=0.01, max_value=100.0
    )
    return Pace(TimeMode(mode), rate, IdleTime(idle))


def declare_nice(node: Node) -> int:
    """Declares the maximum nice value of a bridge to a real robot.

    Raises:
        PlannerError: for an invalid parameter.
    """
    what = "nice value of the bridge's process with a real robot; 0 = unchanged"
    return parameters.whole(node, "nice", -10, what, min_value=MIN_NICE, max_value=0)


def declare_sensing(node: Node) -> Sensing:
    """Declares which pictures are published, and how often.

    Raises:
        PlannerError: for an invalid parameter.
    """
    text = declare(node, CAMERAS)
    cameras = tuple(name.strip() for name in text.split(",") if name.strip())
    camera_hz = declare(node, CAMERA_HZ)
    still_hz = parameters.number(
        node,
        "still_camera_hz",
        2.0,
        "exposures per simulated second while nothing moves in a simulator",
        min_value=0.1,
        max_value=30.0,
    )
    encoding = parameters.text(
        node,
        "depth_encoding",
        "32FC1",
        "32FC1 in metres or 16UC1 in millimetres",
        choices=conversions.DEPTH_ENCODINGS,
    )
    return Sensing(cameras, camera_hz, still_hz, encoding)


def declare_safety(node: Node) -> SafetyOptions:
    """Declares the file with the parameters of the safety rules.

    Raises:
        PlannerError: for an invalid file.
    """
    name = parameters.text(
        node,
        "safety_config",
        "",
        "file with the parameters of the safety rules; empty = the shipped one",
    )
    return read_model(Path(name), SafetyOptions) if name else default_safety()
