"""`backend:=external` over real DDS, before a stand-in that publishes as spot_ros2 does."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bridge_harness import BEST_EFFORT, LATCHED, Bridge, Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, PointStamped, Pose, PoseArray, TransformStamped
from nav_msgs.msg import Odometry
from planner_msgs.msg import ApprovalQuestion
from planner_msgs.srv import AnswerQuestion
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import BatteryState, CameraInfo, Image, JointState
from std_msgs.msg import Bool, Header
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from planner.command_line import EXIT_CONFIGURATION
from planner.ros import conversions
from planner.ros.conversions import header
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.observation import Intrinsics
from planner.world.primitive import PrimitiveCode

# As spot_ros2's C++ publishers offer everything, images included.
OFFERED = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
LENS = Intrinsics(32, 24, 30.0, 30.0, 16.0, 12.0)
CAMERA = "spot/hand_color_image_sensor"


class StandIn:
    """Topics and services of spot_ros2, for a robot that stands at (1, 0.5) of its odometry."""

    def __init__(self, odometry_frame: str = "spot/odom", x_m: float = 1.0) -> None:
        self._client = Client("stand_in")
        node = self._client.node
        self.asked: list[str] = []
        self._odometry_frame, self._x_m = odometry_frame, x_m

        def offer(kind: type, topic: str) -> Any:
            return node.create_publisher(kind, topic, OFFERED)

        self._odometry = offer(Odometry, "/spot/odometry")
        self._joints = offer(JointState, "/spot/joint_states")
        self._color = offer(Image, "/spot/camera/hand/image")
        self._lens = offer(CameraInfo, "/spot/camera/hand/camera_info")
        self._depth = offer(Image, "/spot/depth_registered/hand/image")
        self._tf = node.create_publisher(TFMessage, "/tf", 100)
        self._tf_static = offer(TFMessage, "/tf_static")
        for name in ("claim", "release", "power_on", "power_off", "stand", "sit", "stop"):
            node.create_service(Trigger, f"/spot/{name}", self._answer(name))
        self._tf_static.publish(TFMessage(transforms=[link("spot/body", CAMERA, 0.4, 0.0, 0.4)]))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _answer(self, name: str) -> Any:
        def answer(_request: Any, response: Trigger.Response) -> Trigger.Response:
            self.asked.append(name)
            response.success, response.message = True, f"{name} done"
            return response

        return answer

    def _run(self) -> None:
        while not self._over.is_set():
            self._publish()
            self._client.executor.spin_once(timeout_sec=0.05)

    def _publish(self) -> None:
        now_s = time.time()
        odometry = Odometry(header=header(now_s, self._odometry_frame), child_frame_id="spot/body")
        place = odometry.pose.pose
        place.position.x, place.position.y, place.position.z = self._x_m, 0.5, 0.52
        place.orientation.w = 1.0
        self._odometry.publish(odometry)
        self._joints.publish(JointState(name=["spot/arm_f1x"], position=[-1.5708]))
        body = link("spot/odom", "spot/body", 1.0, 0.5, 0.52, now_s)
        self._tf.publish(TFMessage(transforms=[body]))
        head = header(now_s, CAMERA)
        self._lens.publish(conversions.camera_info(head, LENS))
        depth = np.full((24, 32), 1.5, np.float32)
        self._depth.publish(conversions.depth_message(head, depth, "16UC1"))
        self._color.publish(conversions.rgb_message(head, np.full((24, 32, 3), 90, np.uint8)))

    def close(self) -> None:
        self._over.set()
        self._thread.join(5.0)
        self._client.close()


def link(
    parent: str, child: str, x: float, y: float, z: float, stamp_s: float = 1.0
) -> TransformStamped:
    made = TransformStamped(header=header(stamp_s, parent), child_frame_id=child)
    made.transform.translation.x = x
    made.transform.translation.y = y
    made.transform.translation.z = z
    made.transform.rotation.w = 1.0
    return made


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("external")
    alone = small_episode.model_copy(update={"agents": small_episode.agents[:1]})
    settings = folder / "external.yaml"
    settings.write_text(
        "version: 1\nodom_in_map: [1.0, 1.0, 0.0]\nwait_s: 60.0\ntrigger_s: 60.0\n"
        "silent_after_s: 60.0\n"
    )
    safety = folder / "safety.yaml"
    # The stand-in is a thread of this process and real time is real: on a busy machine it may say
    # nothing for seconds, and the rest at the end takes its time. Neither is what is tested here,
    # nor is how soon a report of persons reaches a bridge that hardly runs, or an answer.
    safety.write_text(
        "version: 1\nlink: {stale_after_s: 60.0}\nexecutive: {where: never}\n"
        "people: {seen_for_s: 5.0}\napproval: {timeout_s: 300.0}\nshutdown_s: 80.0\n"
    )
    return {
        "episode": write_world(folder, small_house, alone),
        "backend_config": settings,
        "safety_config": safety,
    }


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    made = StandIn()
    yield made
    made.close()


@pytest.mark.slow
def test_a_robot_of_others_is_seen_as_all_robots_are_and_is_not_moved(
    world: dict[str, Path], stand_in: StandIn
) -> None:
    with bridge(backend="external", **world) as running:
        client = Client()
        seen = client.hear(Odometry, "/agent_0/odometry", BEST_EFFORT)
        assert (seen.header.frame_id, seen.child_frame_id) == ("agent_0/odom", "agent_0/base_link")
        assert seen.pose.pose.position.x == pytest.approx(1.0)
        assert seen.pose.pose.position.z == pytest.approx(0.0)
        day_s = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
        assert seen.header.stamp.sec > day_s, "a robot's stamps are the time of day"
        picture = client.hear(Image, "/agent_0/camera/hand/image", BEST_EFFORT)
        assert (picture.encoding, picture.height, picture.width) == ("rgb8", 24, 32)
        assert picture.header.frame_id == "agent_0/hand_optical_frame"
        depth = client.hear(Image, "/agent_0/depth_registered/hand/image", BEST_EFFORT)
        assert conversions.depth_array(depth)[3, 3] == pytest.approx(1.5)
        frames: dict[str, Any] = {}

        def moved() -> bool:
            for message in tf:
                frames.update({t.child_frame_id: t for t in message.transforms})
            return {"agent_0/odom", "agent_0/hand_optical_frame"} <= frames.keys()

        tf = client.listen(TFMessage, "/tf", BEST_EFFORT)
        client.wait(moved, "the frames")
        assert frames["agent_0/odom"].header.frame_id == "map"
        assert frames["agent_0/odom"].transform.translation.y == pytest.approx(1.0)

        refused = client.do("navigate", (2.0, 2.0, 0.0))
        assert refused.code == PrimitiveCode.NOT_ALLOWED
        for name in ("claim", "power_on", "stand"):
            answer = client.call(Trigger, f"/agent_0/{name}")
            assert answer.success, answer.message
        assert stand_in.asked == ["claim", "power_on", "stand"]
        allowed = client.listen(Bool, "/agent_0/safety/motion_allowed", LATCHED)
        client.wait(lambda: allowed and allowed[-1].data, "the permission to move")
        refused = client.do("navigate", (2.0, 2.0, 0.0))
        assert refused.code == PrimitiveCode.NOT_ABLE, refused
        assert "use backend:=spot" in refused.text
        charge = client.hear(BatteryState, "/agent_0/battery_state", LATCHED).percentage
        assert math.isnan(charge), "standard types do not tell of the battery"
        asks_first_and_heeds_people(client)
        assert "not a certified safety function" in running.log, "rule 20: on start"
        motion = {"/spot/cmd_vel", "/spot/body_pose", "/spot/arm_pose_commands"}
        topics = {name for name, _ in client.node.get_topic_names_and_types()}
        assert not motion & topics, "no topic of motion is even advertised"
        client.close()
    # We claimed it, so we leave it at rest; its arm has no such service here, which is no matter.
    assert stand_in.asked[-3:] == ["sit", "power_off", "release"], running.log


def asks_first_and_heeds_people(client: Client) -> None:
    """Rules 9, 12 and 14 on topics: persons on /people, and the question before a grasp."""
    tell = client.node.create_publisher(PoseArray, "/people", 1)
    states = client.listen(DiagnosticStatus, "/agent_0/safety/state", LATCHED)

    def value(key: str) -> str:
        return next(v.value for v in states[-1].values if v.key == key) if states else ""

    def say(frame: str, x_m: float) -> None:
        person = Pose(position=Point(x=x_m))
        tell.publish(PoseArray(header=Header(frame_id=frame), poses=[person]))

    def warned(words: str, frame: str = "", x_m: float = 0.0) -> bool:
        if frame:
            say(frame, x_m)
        return words in value("warns")

    client.wait(lambda: warned("in the frame 'kitchen'; report them in 'map'", "kitchen"), "it")
    client.wait(lambda: warned("poses[0].position.x: 1e+18", "map", 1e18), "the place")
    client.wait(lambda: warned("", "map") and not value("warns"), "persons in the map")
    client.wait(lambda: warned("start the tracker again"), "the tracker's silence")
    client.node.destroy_publisher(tell)

    picture = client.listen(Image, "/agent_0/safety/asks/image", LATCHED)
    target = client.listen(PointStamped, "/agent_0/safety/asks/target", LATCHED)
    questions = client.listen(ApprovalQuestion, "/agent_0/safety/question", LATCHED)
    receipts = client.listen(DiagnosticStatus, "/agent_0/safety/receipts")

    def answer(frame: str, x_m: float) -> Any:
        place = PointStamped(header=Header(frame_id=frame), point=Point(x=x_m, y=1.5, z=0.5))
        fields = {"question_id": questions[-1].question_id, "has_target": True, "target": place}
        return client.call(AnswerQuestion, "/agent_0/safety/answer", approve=True, **fields)

    pick = client.start("pick", (2.5, 1.5, 0.5))
    client.wait(lambda: picture and target, "what is asked")
    client.wait(
        lambda: value("asks") == "pick (unknown to perception): a person is near", "the question"
    )
    client.wait(lambda: questions and questions[-1].question_id == value("asks_id"), "its id")
    assert (picture[-1].height, picture[-1].header.frame_id) == (24, "agent_0/hand_optical_frame")
    assert picture[-1].header.stamp == questions[-1].issued
    assert (target[-1].header.frame_id, target[-1].point.x) == ("map", 2.5)
    wrong = answer("kitchen", 0.0)
    assert "'kitchen' is not used" in wrong.message
    client.wait(lambda: any(r.message == wrong.message for r in receipts), "the receipt")
    answer("map", 2.4)
    done = pick.result()
    assert done.code == PrimitiveCode.NOT_ABLE, "it was approved, and this backend sends no motion"


def test_odometry_in_a_wrong_frame_is_reported_and_not_used(world: dict[str, Path]) -> None:
    wrong = StandIn(odometry_frame="world")
    try:
        running = Bridge(backend="external", **world)
        assert running.ended() == EXIT_CONFIGURATION
    finally:
        wrong.close()
    assert "tells of 'spot/body' in 'world'" in running.log
    assert "spot/odom or spot/vision" in running.log
    assert "Traceback" not in running.log


def test_odometry_out_of_bounds_is_reported_and_not_used(world: dict[str, Path]) -> None:
    wrong = StandIn(x_m=1e18)
    try:
        running = Bridge(backend="external", **world)
        assert running.ended() == EXIT_CONFIGURATION
    finally:
        wrong.close()
    assert "pose.pose.position.x: 1e+18 is outside" in running.log
    assert "Traceback" not in running.log


def test_without_spot_ros2_the_bridge_says_what_to_do(
    world: dict[str, Path], tmp_path: Path
) -> None:
    brief = tmp_path / "external.yaml"
    brief.write_text("version: 1\nwait_s: 1.0\n")
    running = Bridge(backend="external", **(world | {"backend_config": brief}))
    assert running.ended() == EXIT_CONFIGURATION
    assert "is spot_ros2 running under this name" in running.log
    assert "Traceback" not in running.log
