"""`backend:=ros` over real DDS, before the emulated robot in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bridge_harness import Bridge, Client, bridge
from nav_msgs.msg import Odometry
from planner_msgs.action import ExecutePrimitive
from std_srvs.srv import SetBool, Trigger

from planner.environment import ros_environment
from planner.world.episode import Episode, ObjectPlacement
from planner.world.house_checks import load_house
from planner.world.primitive import PrimitiveCode
from sim_bridge.opening import bare_episode

AGENT = "agent_0"
HOUSE = load_house("train_0")
CHEST = HOUSE.furniture_by_name["chest_of_drawers_0"]
CANDLE = next(item for item in HOUSE.objects if item.class_name == "candle")
# In the bedroom, two metres from the chest that the candle stands on.
START = (4.75, 1.9, 0.0)
FAR = (1.2, 8.0, 0.0)
# As a person at the robot would have approved it all and attended.
RULES = "version: 1\napproval: {where: never}\nexecutive: {where: never}\n"


def episode_of(*things: ObjectPlacement) -> Episode:
    bare = bare_episode(HOUSE, 1)
    agents = tuple(agent.model_copy(update={"start": START}) for agent in bare.agents)
    news = {"agents": agents, "objects": things, "episode_id": "by_chest"}
    return bare.model_copy(update=news)


@dataclass
class Stage:
    """The robot, the bridge before it, and a client."""

    robot: subprocess.Popen[bytes]
    bridge: Bridge
    client: Client

    def enable(self) -> None:
        for command in ("claim", "power_on", "stand"):
            answer = self.client.call(Trigger, f"/{AGENT}/{command}")
            assert answer.success, answer.message

    def until_driving(self, odometry: list[Odometry]) -> None:
        self.client.wait(
            lambda: odometry and abs(odometry[-1].twist.twist.linear.x) > 0.2, "the robot to drive"
        )

    def until_standing(self, odometry: list[Odometry], within_s: float) -> None:
        def stands() -> bool:
            twist = odometry[-1].twist.twist
            return abs(twist.linear.x) < 0.01 and abs(twist.angular.z) < 0.01

        self.client.wait(stands, "the robot to stand", within_s)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    file = tmp_path / "episode.json"
    file.write_text(episode_of(CANDLE).model_dump_json())
    rules = tmp_path / "safety.yaml"
    rules.write_text(RULES)
    words = [sys.executable, "-m", "planner.cli", "robot-emulator", "--episode", str(file)]
    robot = subprocess.Popen([*words, "--truth"], env=dict(ros_environment(os.environ)))
    try:
        with bridge(backend="ros", episode=file, safety_config=rules) as made:
            client = Client()
            yield Stage(robot, made, client)
            client.close()
    finally:
        robot.terminate()
        robot.wait(30)


@pytest.mark.slow
def test_it_fetches_a_thing_from_a_chest_to_a_table(stage: Stage) -> None:
    client = stage.client
    refused = client.do("navigate", CHEST.box.center_m)
    assert refused.code == PrimitiveCode.NOT_ALLOWED
    stage.enable()
    x, y, z, _ = CANDLE.pose
    middle = (x, y, z + CANDLE.size_m[2] / 2)
    arrived = client.do("navigate", middle)
    assert arrived.code == PrimitiveCode.SUCCESS, arrived.text
    picked = client.do("pick", middle)
    assert picked.code == PrimitiveCode.SUCCESS, picked.text
    # The judge's truth, from the emulator, not from the bridge.
    held = client.state().entities[CANDLE.name]
    assert (held.parent, str(held.relation)) == (AGENT, "held")
    bed = next(piece for piece in HOUSE.furniture if piece.class_name == "nightstand")
    top = bed.pose.apply(bed.surfaces[0].center)
    assert client.do("navigate", top).code == PrimitiveCode.SUCCESS
    placed = client.do("place", top, relation="on")
    assert placed.code == PrimitiveCode.SUCCESS, placed.text
    lies = client.state().entities[CANDLE.name]
    assert (lies.parent, str(lies.relation)) == (bed.name, "on")
    # What the gripper closed on nothing for is told as that.
    nothing = client.do("pick", (x, y, z + 0.05))
    assert nothing.code in (PrimitiveCode.TOO_FAR, PrimitiveCode.NOTHING_THERE)


def test_a_stop_ends_the_drive_and_the_robot_stands(stage: Stage) -> None:
    client = stage.client
    odometry = client.listen(Odometry, "/odom", 10)
    stage.enable()
    drive = client.start("navigate", FAR)
    stage.until_driving(odometry)
    assert client.call(Trigger, f"/{AGENT}/stop").success
    stage.until_standing(odometry, 5.0)
    assert drive.result().code == PrimitiveCode.STOPPED
    client.idle(1.0)
    stage.until_standing(odometry, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_bridge_that_dies_or_hangs_leaves_a_standing_robot(stage: Stage, number: int) -> None:
    client = stage.client
    odometry = client.listen(Odometry, "/odom", 10)
    stage.enable()
    client.start("navigate", FAR)
    stage.until_driving(odometry)
    stage.bridge.process.send_signal(number)
    stage.until_standing(odometry, 10.0)
    # Nav2 has given the goal up: it does not go on later.
    client.idle(2.0)
    stage.until_standing(odometry, 0.1)
    if number == signal.SIGSTOP:
        stage.bridge.process.send_signal(signal.SIGCONT)


@pytest.mark.slow
def test_a_dead_nav2_is_one_clear_state_and_found_again(stage: Stage) -> None:
    client = stage.client
    stage.enable()
    odometry = client.listen(Odometry, "/odom", 10)
    drive = client.start("navigate", FAR)
    stage.until_driving(odometry)
    assert client.call(SetBool, "/emulator/nav2", data=False).success
    ended: ExecutePrimitive.Result = drive.result()
    assert ended.code == PrimitiveCode.BACKEND_FAULT, ended.text
    assert "is not there" in ended.text
    stage.until_standing(odometry, 5.0)
    again = client.do("navigate", FAR)
    assert again.code == PrimitiveCode.BACKEND_FAULT
    assert "no action server of that name; the robot stands" in again.text
    assert client.call(SetBool, "/emulator/nav2", data=True).success
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline:
        code = client.do("navigate", (*START[:2], 0.0)).code
        if code != PrimitiveCode.BACKEND_FAULT:
            break
    assert code == PrimitiveCode.SUCCESS
