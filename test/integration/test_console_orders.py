"""Orders at the console's socket over real nodes, before a task planner that the test plays."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from bridge_harness import LATCHED, TIMEOUT_S, Client
from node_processes import END_S, Node, ending
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import InstructStatus
from rclpy.action import ActionServer
from rclpy.task import Future
from websockets.sync.client import ClientConnection, connect

from planner.world.topics import InstructionCode, InstructState

IDLE_S = 1.0


class SlowPlanner:
    """Says on the topic that an instruction has ended, and gives the result only when told to."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.goals: list[Any] = []
        self.results: list[Future[None]] = []
        self._status = client.node.create_publisher(InstructStatus, "/instruct/status", LATCHED)
        self._server = ActionServer(client.node, FollowInstruction, "/instruct", self._follow)

    async def _follow(self, goal: Any) -> Any:
        self.goals.append(goal)
        self.results.append(Future(executor=self.client.executor))
        await self.results[-1]
        goal.succeed()
        return FollowInstruction.Result(code=int(InstructionCode.DONE), text="done")

    def say(self, state: InstructState, number: int = -1) -> None:
        """The status of an instruction; the newest one, unless another is named."""
        goal = self.goals[number]
        self._status.publish(
            InstructStatus(
                id=bytes(goal.goal_id.uuid).hex(),
                instruction=goal.request.instruction,
                state=int(state),
            )
        )

    def close(self) -> None:
        self._server.destroy()


class Page:
    """A page without a browser; the test's node works on while it waits."""

    def __init__(self, client: Client, node: Node, socket: ClientConnection) -> None:
        self.client, self.node, self.socket = client, node, socket
        self.outcomes: dict[int, dict[str, Any]] = {}
        self.state = ""
        self.send(type="hello", version=1, token="", session="aaaaaaaa")

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def wait(self, met: Callable[[], Any], what: str) -> None:
        def look() -> Any:
            with suppress(TimeoutError):
                self._take(json.loads(self.socket.recv(timeout=0.01)))
            return met()

        self.client.wait(look, what, TIMEOUT_S)

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "done":
            self.outcomes[message["order"]] = message
        elif message["type"] in ("all", "patch"):
            self.send(type="drawn", version=message["version"])
            now = message["set"].get("instruct", {}).get("now", {})
            self.state = now.get("state", self.state)


@pytest.fixture
def planner() -> Iterator[SlowPlanner]:
    client = Client()
    made = SlowPlanner(client)
    yield made
    made.close()
    client.close()


@pytest.fixture
def page(planner: SlowPlanner) -> Iterator[Page]:
    node, shown = Node("console", port=0), re.compile(r"console: http(://\S+)")
    with ending(node):
        found = planner.client.wait(lambda: shown.search(node.log), "the page's address")
        with connect(f"ws{found[1]}ws", max_size=None) as socket:
            yield Page(planner.client, node, socket)


def test_the_next_instruction_waits_until_the_one_before_has_its_result(
    planner: SlowPlanner, page: Page
) -> None:
    """The page shows an end as soon as the topic says it; the action's result comes later."""
    page.send(type="instruct", order=1, words="First.")
    page.wait(lambda: planner.goals, "the first instruction")
    planner.say(InstructState.RUNNING)
    page.wait(lambda: page.state == "running", "that it runs")
    page.send(type="instruct", order=2, words="Stop!")
    page.wait(lambda: len(planner.goals) == 2, "what is said meanwhile")
    planner.results[1].set_result(None)
    page.wait(lambda: 2 in page.outcomes, "the reply")
    planner.say(InstructState.DONE, 0)
    page.wait(lambda: page.state == "done", "that it has ended")
    page.send(type="instruct", order=3, words="Second.")
    planner.client.idle(IDLE_S)
    assert len(planner.goals) == 2
    planner.results[0].set_result(None)
    page.wait(lambda: len(planner.goals) == 3, "the second instruction")
    planner.results[2].set_result(None)
    page.wait(lambda: 3 in page.outcomes, "its outcome")
    assert [page.outcomes[n]["good"] for n in (1, 2, 3)] == [True, True, True]
    said = [goal.request.instruction for goal in planner.goals]
    assert said == ["First.", "Stop!", "Second."]


@pytest.mark.parametrize("moment", ["sent", "running", "ended"])
def test_a_console_that_is_stopped_around_an_instruction_ends_well(
    planner: SlowPlanner, page: Page, moment: str
) -> None:
    page.send(type="instruct", order=1, words="Bring the cup.")
    if moment != "sent":
        page.wait(lambda: planner.goals, "the instruction")
    if moment == "ended":
        # It makes the client of the next instruction when it has this one's result.
        planner.results[0].set_result(None)
        page.wait(lambda: 1 in page.outcomes, "the outcome")
    page.node.send_signal(signal.SIGINT)
    assert page.node.wait(END_S) == 0
    assert "Traceback" not in page.node.log
