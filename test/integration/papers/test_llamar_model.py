"""LLaMAR and a model server that goes down in the middle of a step, or says what is not a reply."""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress

import pytest
from bridge_harness import Client
from planner_harness import Instructions, Start
from planner_msgs.msg import InstructStatus
from test_model_servers import Babbler, Model, ModelServer, waits, words_event

from planner.models.chat import Role
from planner.world.topics import InstructionCode

SUBTASK = "turn round"
KEYS = re.compile(r"Reply with a dictionary of (?:two|these) keys: (.*)")


def role_of(system: str) -> Role | None:
    """Whose prompt it is, by the keys that it asks for; None for another one."""
    match = KEYS.search(system)
    if match is None:
        return None
    asked = {
        Role.PLANNER: '"plan"',
        Role.ACTOR: '"memory"',
        Role.CORRECTOR: "corrective action",
        Role.VERIFIER: '"completed subtasks"',
    }
    return next(role for role, key in asked.items() if key in match[1])


def reply(role: Role, action: str, *, done: bool) -> str:
    why = {"failure reason": None}
    said: dict[Role, object] = {
        Role.PLANNER: {"reason": "r", "plan": [SUBTASK]},
        Role.ACTOR: {
            **why,
            "memory": "m",
            "reason": "r",
            "subtask": SUBTASK,
            "Alice's action": action,
        },
        Role.CORRECTOR: {**why, "Alice's corrective action": None},
        Role.VERIFIER: {"reason": "r", "completed subtasks": [SUBTASK] if done else []},
    }
    return json.dumps(said[role])


class TeamModel(Model):
    """Replies as each role; holds the call after the last one that it may answer."""

    server: TeamServer

    def do_POST(self) -> None:  # noqa: N802 - a name of http.server
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.close_connection = True
        role = role_of(body["messages"][0]["content"])
        if role is not None and not self.server.may_answer(role):
            self.server.asked_too_much.set()
            self.server.stopped.wait(60)
            return
        action, done = self.server.replies[0], self.server.done
        text = "?" if role is None else reply(role, action, done=done)
        with suppress(OSError):
            self.begin()
            self.wfile.write(words_event(text, "stop") + b"data: [DONE]\n\n")


class TeamServer(ModelServer):
    """A server of one action; `most` replies, and whether its Verifier is content."""

    def __init__(self, action: str, *, most: int, done: bool, port: int = 0) -> None:
        self.most, self.done = most, done
        self.asked: list[Role] = []
        self._lock = threading.Lock()
        super().__init__(action, port=port, kind=TeamModel)

    def may_answer(self, role: Role) -> bool:
        with self._lock:
            self.asked.append(role)
            return len(self.asked) <= self.most


def test_a_server_that_goes_down_within_a_joint_step_is_waited_for(
    alone: Start, client: Client
) -> None:
    """The second Actor call is asked of a server that dies; another one takes its place."""
    with TeamServer("Rotate(Right)", most=5, done=False) as server:
        node, begun = alone(planner="llamar", model="tiny", model_url=server.url)
        instructions = Instructions(client)
        handle = instructions.send("Turn round.", agents=["agent_0"])
        client.wait(server.asked_too_much.is_set, "the second Actor call")
    first = [Role.PLANNER, Role.ACTOR, Role.CORRECTOR, Role.VERIFIER]
    assert server.asked == [*first, Role.PLANNER, Role.ACTOR]
    client.wait(lambda: waits(instructions), "the planner's word that it waits")
    with TeamServer("Rotate(Left)", most=100, done=True, port=server.port) as second:
        result, _ = instructions.result(handle)
    assert (result.code, result.text) == (InstructionCode.DONE, "no subtask is open"), node.log
    # The roles that had answered are not asked again, and nothing is done twice.
    assert second.asked == first[1:]
    assert [call for _, call in begun] == ["Rotate[Right]", "Rotate[Left]"]


@pytest.mark.slow
def test_a_model_that_babbles_makes_the_team_wait_until_the_horizon(
    alone: Start, client: Client
) -> None:
    statuses = client.listen(InstructStatus, "/instruct/status", 100)
    with ModelServer(kind=Babbler) as server:
        _, begun = alone(planner="llamar", model="tiny", model_url=server.url, horizon=2)
        result = Instructions(client).follow("Turn round.", agents=["agent_0"])
    assert (result.code, result.text) == (
        InstructionCode.CALL_LIMIT,
        "planner limit: 2 joint steps",
    )
    assert [call for _, call in begun] == ["Wait[]", "Wait[]"]
    client.wait(lambda: statuses[-1].code == InstructionCode.CALL_LIMIT, "the last status")
    told = {item.key: item.value for item in statuses[-1].evidence}
    # In each step the Planner, which is why nobody acts, the Corrector and the Verifier.
    assert told["unread_replies"] == "6"
    assert told["last_unread_reply"].startswith("verifier: ")
