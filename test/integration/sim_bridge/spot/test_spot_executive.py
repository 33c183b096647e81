"""Rules 7 and 8 before an emulated Spot in real time: executives that hang, or think long; outages.

SPOT-F6.4: the robot stands within 0.7 s of the last heartbeat. How long it takes is measured on the
emulator's own steps; the margin allows for the delay with which this test receives heartbeats.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from executive import attend_command
from planner_harness import Instructions, script
from spot_stack import ROBOT, SpotStack, spot_stack
from test_model_servers import Model, ModelServer, words_event

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import PrimitiveCode
from planner.world.topics import InstructionCode
from sim_bridge.spot.emulator.machine import Posture

# In real time, and with a process that imports the SDK.
pytestmark = pytest.mark.slow

STANDS_S, MARGIN_S = 0.7, 0.25
# However busy this machine is: no call is late, and the robot does not miss us.
UNHURRIED = (
    "version: 1\nlink: {stale_after_s: 30.0}\nkeepalive: {motors_off_after_s: 300.0}\n"
    "timeouts: {state_s: 10.0, command_s: 10.0, lease_s: 10.0, login_s: 30.0}\n"
)
# Long enough to look at a halted robot before the goal ends.
PATIENT = f"{UNHURRIED}executive: {{stop_after_s: 6.0, sit_after_s: 60.0}}\n"
# The shipped times of link and executive, for a machine on which calls may be late.
WATCHFUL = "version: 1\nkeepalive: {motors_off_after_s: 300.0}\n"
FAR = (6.0, 2.2, 0.0)


@contextmanager
def stopped(pid: int) -> Iterator[float]:
    """A process that hangs for as long as the `with` lasts; since when."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield time.time()
    finally:
        os.kill(pid, signal.SIGCONT)


def hang(stack: SpotStack, pid: int) -> None:
    """A walk halts while a process hangs, and goes on after it."""
    stack.until_moving()
    stack.client.wait(lambda: time.time() - stack.heard_s < 0.2, "heartbeats")
    with stopped(pid):
        stack.until_still(1.5)
        halted_s = stack.track.moved_s - stack.heard_s
        assert halted_s <= STANDS_S + MARGIN_S
        assert not stack.moving
    went_on_s = time.time()
    stack.client.wait(lambda: stack.track.moved_s > went_on_s, "that it goes on", 1.0 + MARGIN_S)


def test_a_client_that_hangs_halts_its_robot_and_then_loses_it(
    small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    with (
        spot_stack(tmp_path, small_house, small_episode, PATIENT) as stack,
        attend_command(ROBOT) as executive,
    ):
        stack.stand()
        stack.client.wait(lambda: "attend" in stack.attended_by, "attendance")
        walk = stack.client.start("navigate", FAR)
        hang(stack, executive.pid)
        with stopped(executive.pid):
            result = walk.result()
            assert result.code == PrimitiveCode.NOT_ALLOWED
            assert {i.key: i.value for i in result.evidence}["reason"] == "EXECUTIVE_LOST"
        assert stack.emulator.machine.posture is Posture.STANDING
        # The goodbye of an orderly end is heard at once.
        stack.client.wait(lambda: "attend" in stack.attended_by, "attendance")
        executive.send_signal(signal.SIGINT)
        assert executive.wait(10) == 0
        stack.client.wait(lambda: not stack.attended_by, "the goodbye")


def test_a_walk_ends_by_itself_where_the_bridge_hangs_after_its_executive(
    small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    """Without that it would live for 0.6 s after what was sent last, so 0.8 s and more."""
    with (
        spot_stack(tmp_path, small_house, small_episode, PATIENT) as stack,
        attend_command(ROBOT) as executive,
    ):
        stack.stand()
        stack.client.wait(lambda: "attend" in stack.attended_by, "attendance")
        stack.client.start("navigate", FAR)
        stack.until_moving()
        stack.client.wait(lambda: time.time() - stack.heard_s < 0.05, "heartbeats")
        with stopped(executive.pid):
            stack.until_still(0.25)
            with stopped(stack.bridge.process.pid):
                stack.client.idle(1.0)
                stack.emulator.advance()
                assert stack.track.moved_s - stack.heard_s <= STANDS_S + MARGIN_S / 2
                assert not stack.moving


@pytest.mark.parametrize("who", ["task_planner", "skill_executor"])
def test_a_planner_or_its_skills_that_hang_halt_the_robot_and_the_task_continues(
    who: str, small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    replies = ["Navigate[Object.103]\nAssigned!", "Done[]"]
    with spot_stack(tmp_path, small_house, small_episode, PATIENT) as stack:
        skills = stack.add("skill_executor")
        planner = stack.add("task_planner", planner="react", model=script(tmp_path / "m", *replies))
        stack.tell_graph()
        stack.stand()
        instructions = Instructions(stack.client)
        handle = instructions.send("Go to the table.", agents=[ROBOT])
        hang(stack, (planner if who == "task_planner" else skills).process.pid)
        result, _ = instructions.result(handle)
        assert result.code == InstructionCode.DONE, planner.log + skills.log
        stack.client.wait(lambda: not stack.attended_by, "the planner's goodbye")
        assert stack.emulator.machine.posture is Posture.STANDING


def link_stall(stack: SpotStack) -> None:
    """The robot cannot be reached for 3 s."""
    stack.relay.stall(3.0)
    stack.client.idle(3.0)


def frozen_bridge(stack: SpotStack) -> None:
    """The bridge hangs for 2 s."""
    with stopped(stack.bridge.process.pid):
        stack.client.idle(2.0)


@pytest.mark.parametrize("outage", [link_stall, frozen_bridge])
def test_a_task_outlives_an_outage_of_its_link_and_no_call_of_it_fails(
    outage: Callable[[SpotStack], None], small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    replies = ["Navigate[Object.103]\nAssigned!", "Done[]"]
    with spot_stack(tmp_path, small_house, small_episode, WATCHFUL) as stack:
        skills = stack.add("skill_executor")
        planner = stack.add("task_planner", planner="react", model=script(tmp_path / "m", *replies))
        stack.tell_graph()
        stack.stand()
        instructions = Instructions(stack.client)
        handle = instructions.send("Go to the table.", agents=[ROBOT])
        stack.until_moving()
        outage(stack)
        result, _ = instructions.result(handle)
        assert result.code == InstructionCode.DONE, planner.log + skills.log
        assert {item.key: item.value for item in result.evidence}["failed_calls"] == "0"
        assert "it goes on if that ends" in skills.log


class SlowModel(Model):
    """A model that thinks longer than a robot stands without an executive."""

    THINKS_S = 15.0

    def answer(self, is_asked: bool, said: int) -> None:
        if is_asked and said == 1:
            time.sleep(self.THINKS_S)
        self.begin()
        reply = self.server.replies[said] if is_asked else "?"
        self.wfile.write(words_event(reply, "stop") + b"data: [DONE]\n\n")


def test_a_task_outlives_a_model_that_thinks_long(
    small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    replies = ("Navigate[Object.101]\nAssigned!", "Navigate[Object.100]\nAssigned!", "Done[]")
    with (
        spot_stack(tmp_path, small_house, small_episode, UNHURRIED) as stack,
        ModelServer(*replies, kind=SlowModel) as server,
    ):
        stack.add("skill_executor")
        planner = stack.add("task_planner", planner="react", model="tiny", model_url=server.url)
        stack.tell_graph()
        stack.stand()
        instructions = Instructions(stack.client)
        handle = instructions.send("Go to the sink and to the table.", agents=[ROBOT])
        result, _ = instructions.result(handle)
        assert result.code == InstructionCode.DONE, planner.log
        assert {item.key: item.value for item in result.evidence}["failed_calls"] == "0"
        assert stack.emulator.machine.posture is Posture.STANDING
