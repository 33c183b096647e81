"""`planner approve` in a process of its own, before a simulator that asks as a robot does."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bridge_harness import LATCHED, TIMEOUT_S, Client, Pursuit, asking_bridge
from PIL import Image as Picture
from planner_msgs.msg import ApprovalQuestion
from std_srvs.srv import Trigger

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import PrimitiveCode

AGENT = "agent_0"


@pytest.fixture(scope="module")
def client(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("approve")
    with asking_bridge(folder, small_house, small_episode) as made:
        yield made


class Asked:
    """A pick that waits for its approval."""

    def __init__(self, client: Client, heard: list[Any]) -> None:
        self.pick: Pursuit = client.start("pick", (2.5, 1.5, 0.5), thing_class="cup")
        client.wait(lambda: heard and heard[-1].question_id, "the question")
        self.question_id = str(heard[-1].question_id)


@pytest.fixture
def asked(client: Client) -> Iterator[Asked]:
    heard = client.listen(ApprovalQuestion, f"/{AGENT}/safety/question", LATCHED)
    client.wait(lambda: heard and not heard[-1].question_id, "that nothing is asked")
    # What another test approved for good is forgotten.
    assert client.call(Trigger, f"/{AGENT}/claim").success
    made = Asked(client, heard)
    yield made
    if not made.pick.status:
        made.pick.cancel()
        made.pick.result()
    client.forget()


def approve(*words: str) -> tuple[int, str]:
    """The exit status of the command and all that it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "planner.cli", "approve", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout


def test_it_shows_the_question_with_its_picture(
    client: Client, asked: Asked, tmp_path: Path
) -> None:
    status, said = approve(AGENT, "--picture", str(tmp_path / "asked.png"))
    assert status == 0, said
    for words in ("asks: pick", "class  cup", "2.50, 1.50, 0.50 m", f"id     {asked.question_id}"):
        assert words in said
    assert "left   unknown" not in said
    with Picture.open(tmp_path / "asked.png") as picture:
        pixels = np.asarray(picture)
    assert pixels.ndim == 3
    assert pixels.max() > 0
    status, said = approve(AGENT, "--picture", str(tmp_path / "asked.unknown"))
    assert status == 2, said
    assert "--picture" in said


def test_yes_to_what_cannot_be_done_says_so_as_does_a_second_yes(
    client: Client, asked: Asked
) -> None:
    status, said = approve(AGENT, "--yes", asked.question_id)
    assert status == 1
    assert said == "pick was approved and refused: nothing to take is at the target\n"
    assert asked.pick.result().code == PrimitiveCode.NOTHING_THERE
    status, said = approve(AGENT, "--yes", asked.question_id)
    assert status == 1
    assert said == f"question {asked.question_id} was approved already; nothing was approved\n"
    status, said = approve(AGENT)
    assert (status, said) == (1, f"{AGENT} has no question\n")


@pytest.mark.slow
def test_no_refuses_it(client: Client, asked: Asked) -> None:
    assert approve(AGENT, "--no", asked.question_id) == (0, "pick was refused\n")
    assert asked.pick.result().code == PrimitiveCode.NOT_ALLOWED


@pytest.mark.slow
def test_another_pixel_may_be_given(client: Client, asked: Asked) -> None:
    status, said = approve(AGENT, "--yes", asked.question_id, "--pixel", "9999", "0")
    assert status == 1, said
    assert "pixel (9999, 0) of the picture shows nothing; the question is still open" in said
    status, said = approve(AGENT, "--yes", asked.question_id, "--pixel", "320", "200")
    # Whatever the pixel shows, which the robot need not be able to take.
    assert said.startswith("pick was approved"), status
    assert asked.pick.result().code != PrimitiveCode.NOT_ALLOWED


@pytest.mark.slow
def test_nobody_there_is_said(client: Client) -> None:
    status, said = approve("agent_7", "--wait", "1")
    assert status == 2
    assert "no bridge has an agent agent_7" in said


class Terminal:
    """The command at a terminal; what it says is read while the client's node works on."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._keys, theirs = pty.openpty()
        # Typed before anything is shown.
        os.write(self._keys, b"y\n")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "planner.cli", "approve", AGENT],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        os.close(theirs)
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self._data = b""

    @property
    def said(self) -> str:
        assert self.process.stdout is not None
        self._data += self.process.stdout.read() or b""
        return self._data.decode(errors="replace")

    def prompted(self, times: int = 1) -> None:
        self._client.wait(lambda: self.said.count("y approve") == times, "the prompt")

    def type(self, text: str) -> None:
        os.write(self._keys, text.encode())

    def ended(self) -> int:
        self._client.wait(lambda: self.process.poll() is not None, "its end")
        return int(self.process.returncode)


@pytest.fixture
def terminal(client: Client, asked: Asked) -> Iterator[Terminal]:
    made = Terminal(client)
    yield made
    if made.process.poll() is None:
        made.process.kill()
    made.process.wait()


@pytest.mark.slow
def test_at_a_terminal_what_was_typed_before_the_question_is_no_answer(
    client: Client, asked: Asked, terminal: Terminal
) -> None:
    terminal.prompted()
    client.idle(0.5)
    assert terminal.process.poll() is None, terminal.said
    assert not [f for f in asked.pick.feedback if f.feedback.phase != "waiting for approval"]
    terminal.type("maybe\n")
    terminal.prompted(2)
    terminal.type("k\n")
    assert terminal.ended() == 1
    assert "pick was approved and refused: nothing to take is at the target" in terminal.said
    assert asked.pick.result().code == PrimitiveCode.NOTHING_THERE


@pytest.mark.slow
def test_at_a_terminal_a_question_that_is_gone_ends_the_command_with_the_reason(
    client: Client, asked: Asked, terminal: Terminal
) -> None:
    terminal.prompted()
    asked.pick.cancel()
    assert asked.pick.result().code == PrimitiveCode.CANCELED
    assert terminal.ended() == 1
    assert f"question {asked.question_id} was canceled; nothing was approved" in terminal.said


# The last one: afterwards the hand is full.
def test_yes_begins_what_can_be_done(client: Client, small_house: House) -> None:
    cup = next(item for item in small_house.objects if item.name == "cup_0")
    at_m = (cup.pose[0], cup.pose[1], cup.pose[2] + cup.size_m[2] / 2)
    assert client.call(Trigger, f"/{AGENT}/claim").success
    assert client.start("navigate", at_m).result().code == PrimitiveCode.SUCCESS
    heard = client.listen(ApprovalQuestion, f"/{AGENT}/safety/question", LATCHED)
    pick = client.start("pick", at_m, thing_class="cup")
    client.wait(lambda: heard and heard[-1].question_id, "the question")
    assert approve(AGENT, "--yes", heard[-1].question_id) == (0, "pick was approved\n")
    assert pick.result().code == PrimitiveCode.SUCCESS
