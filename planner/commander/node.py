"""Commands running nodes from Python, as nav2's simple commander does (docs/python_api.md)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rclpy
from planner_msgs.action import FollowInstruction
from planner_msgs.srv import QueryMemory
from std_srvs.srv import Trigger

from planner.parts.calls import parse_call
from planner.ros.clients import client_node, start_as_operator
from planner.ros.guard import GuardedExecutor
from planner.ros.heartbeat import HeartbeatPublisher
from planner.ros.skill_client import InstructClient, SkillClient
from planner.world import topics
from planner.world.belief import Entity
from planner.world.errors import PlannerError
from planner.world.memory_wire import entity_record
from planner.world.skill import CallError, SkillResult
from planner.world.sqlite_file import ClosedOnExit
from planner.world.topics import InstructionCode
from planner.world.vocabulary import Hands

_STOP = "stop"
_WATCH_S = 0.1


@dataclass(frozen=True, slots=True)
class Ended:
    """How an instruction or a skill call ended.

    Attributes:
        code: name of an `InstructionCode` or a `SkillCode`.
        text: literal; with two hands it says which one a skill used.
        question: set if the planner asks a question instead of waiting for an answer.
        hands: what each hand of the skill's agent holds afterwards, the right one first; None =
            unknown.
    """

    succeeded: bool
    code: str
    text: str
    question: str = ""
    hands: Hands | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The memory's answer in words, and the entities it mentions."""

    text: str
    entities: tuple[Entity, ...]


class Commander(ClosedOnExit):
    """Commands a running stack, one task at a time; close it, or use it as a context manager.

    Callbacks run in a separate thread. While a skill is running, the commander sends heartbeats for
    the agent; if the commander dies, the agent stops (docs/safety.md).
    """

    def __init__(self, namespace: str = "/", *, wait_s: float = 10.0) -> None:
        """Joins the ROS graph; ROS must not be initialised in this process yet.

        Args:
            namespace: of the stack.
            wait_s: how long to wait for nodes that do not answer, seconds.
        """
        start_as_operator(namespace)
        self._wait_s = wait_s
        self._node = client_node(f"commander_{os.getpid()}", namespace)
        self._executor = GuardedExecutor()
        self._executor.add_node(self._node)
        self._heartbeat = HeartbeatPublisher(self._node, through_skills=True)
        self._instruct: InstructClient | None = None
        self._skills: dict[str, SkillClient] = {}
        self._agent = ""
        self._ended: Ended | PlannerError | None = None
        self._over = threading.Event()
        self._over.set()
        self._node.create_timer(_WATCH_S, self._watch)
        self._thread = threading.Thread(target=self._spin, name="commander", daemon=True)
        self._thread.start()

    def instruct(self, words: str, *, agents: Sequence[str] = ()) -> None:
        """Gives an instruction; `wait` returns its result.

        Args:
            words: the instruction.
            agents: the agents to use; empty = all.

        Raises:
            PlannerError: if something is still running.
        """
        self._begin()
        goal = FollowInstruction.Goal(instruction=words, agents=list(agents))
        client = self._instruct = InstructClient(self._node, lambda _: None)

        async def follow() -> None:
            try:
                result = await client.follow(goal, self._wait_s, lambda *_: None)
                code = InstructionCode(int(result.code))
                done = code is InstructionCode.DONE
                self._end(Ended(done, code.name, result.text, result.question))
            except PlannerError as error:
                self._end(error)
            except ValueError:
                self._end(PlannerError(f"the task planner answered with the code {result.code}"))

        self._executor.create_task(follow)

    def skill(self, call: str, agent: str = "agent_0") -> None:
        """Starts one skill call of an agent, such as `Pick[cup_0]`; `wait` returns its result.

        Raises:
            PlannerError: if the text is not a skill call, or something is still running.
        """
        try:
            parsed = parse_call(call)
        except CallError as error:
            raise PlannerError(f"{call}: {error}") from None
        self._begin()
        self._agent = agent

        def begin() -> None:
            self._heartbeat.attend([agent])
            if agent not in self._skills:
                self._skills[agent] = SkillClient(self._node, agent)
            self._skills[agent].begin(parsed, hear)

        def hear(result: SkillResult) -> None:
            self._heartbeat.attend([])
            code = result.code.name
            self._end(Ended(result.succeeded, code, result.text, hands=result.hands))

        self._executor.create_task(begin)

    def wait(self, timeout_s: float | None = None) -> Ended | None:
        """Waits for the result of what is running; None after the timeout.

        Raises:
            PlannerError: if no node accepted the request.
        """
        if not self._over.wait(timeout_s):
            return None
        if isinstance(self._ended, PlannerError):
            raise self._ended
        return self._ended

    def stop(self, agents: Sequence[str] = ("agent_0",)) -> None:
        """Cancels what is running and stops these agents immediately.

        Raises:
            PlannerError: if the bridge does not answer, or refuses.
        """

        def cancel() -> None:
            if self._instruct is not None:
                self._instruct.cancel()
            for client in self._skills.values():
                client.cancel()

        self._executor.create_task(cancel)
        for agent in agents:
            name = topics.of_agent(agent, _STOP)
            answer = self._call(Trigger, name, Trigger.Request(), "bridge")
            if not answer.success:
                raise PlannerError(f"{name}: {answer.message}")

    def memory(self, question: str = "", *, room: str = "") -> Answer:
        """Queries the memory; without a question returns everything, or everything in a room.

        Raises:
            PlannerError: if no memory answers, or it refuses.
        """
        request = QueryMemory.Request(text=question, room=room)
        answer = self._call(QueryMemory, topics.QUERY_MEMORY, request, "memory")
        if not answer.success:
            raise PlannerError(answer.message)
        return Answer(answer.message, tuple(entity_record(each) for each in answer.entities))

    def close(self) -> None:
        """Leaves the ROS graph; a running instruction continues, a running skill stops."""
        self._executor.shutdown()
        self._thread.join()
        self._heartbeat.destroy()
        self._node.destroy_node()
        rclpy.try_shutdown()

    def _begin(self) -> None:
        if not self._over.is_set():
            raise PlannerError("a goal is still active: wait for its end, or stop it")
        self._ended = None
        self._over.clear()

    def _end(self, ended: Ended | PlannerError) -> None:
        if self._instruct is not None:
            self._instruct.destroy()
            self._instruct = None
        self._ended = ended
        self._over.set()

    def _watch(self) -> None:
        for client in self._skills.values():
            client.watch()

    def _spin(self) -> None:
        self._executor.spin()

    def _call(self, kind: Any, name: str, request: object, node: str) -> Any:  # rclpy has no types
        client: Any = self._node.create_client(kind, name)
        try:
            if not client.wait_for_service(self._wait_s):
                raise PlannerError(f"no server for {name}; is a {node} running? (planner up)")
            answer = client.call_async(request)
            ends_s = time.monotonic() + self._wait_s
            while not answer.done() and time.monotonic() < ends_s:
                time.sleep(_WATCH_S / 10)
            if not answer.done():
                raise PlannerError(f"{name} did not answer within {self._wait_s:g} s")
            return answer.result()
        finally:
            self._node.destroy_client(client)
