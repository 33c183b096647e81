"""What a console does in a running stack, over the topics, services and actions that all use."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

from planner_msgs.action import FollowInstruction
from planner_msgs.msg import Operation as OperationMessage
from planner_msgs.srv import AnswerQuestion, EditMemory, LoadEpisode, QueryMemory
from rclpy.executors import Executor
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

from planner.console.orders import Done, Driver
from planner.console.protocol import Correct, operation_of
from planner.parts.calls import parse_call
from planner.ros import qos
from planner.ros.clients import ServiceCall, pause, wall_clock
from planner.ros.conversions import point_message
from planner.ros.heartbeat import HeartbeatPublisher
from planner.ros.lockstep import FreshMemory
from planner.ros.primitives import PrimitiveClient
from planner.ros.skill_client import InstructClient, SkillClient
from planner.world import topics
from planner.world.agents import body_of
from planner.world.belief import OperationKind
from planner.world.errors import PlannerError
from planner.world.memory_wire import OPERATION_KINDS, entity_record
from planner.world.skill import CallError, SkillResult
from planner.world.topics import InstructionCode

# Wall seconds.
WAIT_S, STOP_WAIT_S, _POLL_S = 10.0, 3.0, 0.05
# Between two looks at agents that are driven by keys; without any there are none.
DRIVE_S = 0.04
# Wall seconds until a memory knows of a world that was put back to its beginning.
MEMORY_WAIT_S = 60.0
_KIND_NUMBERS = {kind: number for number, kind in OPERATION_KINDS.items()}


class StackOrders:
    """Implements `Orders`; its methods may be called from any thread.

    All work is done in the node's executor. Services that only the operator may call get a client
    for the time of a call, so that a console that never corrects or approves needs no such right.

    Attributes:
        shows_pictures: whether a page wants the cameras.
    """

    def __init__(self, node: Node, may_operate: bool, has_ended: Callable[[str], bool]) -> None:
        """Prepares it; `start` makes it run.

        Args:
            node: of the console.
            may_operate: whether its identity may approve and correct.
            has_ended: whether the page shows the end of the instruction with this goal's id.
        """
        self._node, self._may_operate, self._has_ended = node, may_operate, has_ended
        self._executor: Executor | None = None
        self._mouth = node.create_publisher(String, topics.INSTRUCT_ANSWER, qos.EVENTS)
        self._heartbeat = HeartbeatPublisher(node, through_skills=True)
        self._instruct: InstructClient | None = None
        # Of the goal that was sent last.
        self._goal = ""
        # For the next instruction, and for what is said while it runs; made in advance, so that
        # the server is discovered by then.
        self._next, self._voice = self._instruct_client(), self._new_voice()
        self._skills: dict[str, SkillClient] = {}
        # Of agents that were driven by keys.
        self._drivers: dict[str, Driver] = {}
        self._bodies: list[PrimitiveClient] = []
        self.shows_pictures = False
        self._driving = node.create_timer(
            DRIVE_S, self._drive_on, clock=wall_clock(), autostart=False
        )

    def start(self, executor: Executor) -> None:
        """From now on orders are carried out."""
        self._executor = executor

    def advertise(self, agent: str) -> None:
        """Prepares an agent's heartbeats and skills, so that they are discovered in advance."""
        self._heartbeat.advertise(agent)
        self._skills[agent] = SkillClient(self._node, agent)

    def watch(self) -> None:
        """Notices servers that died; a few times a second, in the executor."""
        for client in self._skills.values():
            client.watch()

    def _drive_on(self) -> None:
        """Drives on, or no longer."""
        busy = {agent for agent, driver in self._drivers.items() if driver.is_busy}
        for driver in self._drivers.values():
            driver.watch()
        if any(not self._drivers[agent].is_busy for agent in busy):
            self._attend()
        if not any(driver.is_busy for driver in self._drivers.values()):
            self._driving.cancel()

    def close(self) -> None:
        """Ends what was begun; the agents that it attended stop."""
        for client in self._skills.values():
            client.cancel()
        for body in self._bodies:
            body.destroy()
        self._heartbeat.destroy()

    # Instructions

    def _instruct_client(self) -> InstructClient:
        return InstructClient(self._node, self._note_goal)

    def _new_voice(self) -> InstructClient:
        return InstructClient(self._node, lambda _goal: None)

    def _note_goal(self, goal: str) -> None:
        self._goal = goal

    def instruct(
        self, words: str, agents: Sequence[str], dialogue: Sequence[str], done: Done
    ) -> None:
        """Sends it to `/instruct`; what is said while one of this console runs is about that."""

        async def follow() -> None:
            if problem := await self._until_over():
                done(False, problem)
                return
            is_task = self._instruct is None
            if is_task:
                client = self._instruct = self._next
            else:
                client, self._voice = self._voice, self._new_voice()
            goal = FollowInstruction.Goal(
                instruction=words, agents=list(agents), dialogue=list(dialogue)
            )
            try:
                result = await client.follow(goal, WAIT_S, lambda *_: None)
            except PlannerError as error:
                done(False, str(error))
            else:
                name = InstructionCode.name_of(int(result.code))
                good = int(result.code) == InstructionCode.DONE or bool(result.question)
                done(good, f"{name}: {result.question or result.text}")
            finally:
                client.destroy()
                if is_task:
                    self._instruct = None
                    self._next = self._instruct_client()

        self._run(follow, done)

    async def _until_over(self) -> str:
        """Waits for the result of an instruction whose end is shown; returns a refusal, or ""."""
        ends_s = time.monotonic() + WAIT_S
        while self._instruct is not None:
            if not self._has_ended(self._goal):
                return ""
            if time.monotonic() > ends_s:
                return f"the instruction before has ended, but gave no result for {WAIT_S:g} s"
            await pause(self._node, _POLL_S)
        return ""

    def again(self, words: str, agents: Sequence[str], done: Done) -> None:
        """Calls `/world/restart`, then sends the instruction once the memory has begun anew."""

        async def call() -> None:
            answer = await self._anew(Trigger, topics.RESTART_WORLD, Trigger.Request())
            if answer.success and words:
                self.instruct(words, agents, (), done)
            elif answer.success:
                done(True, "the world is at its beginning")
            else:
                done(False, f"the world does not begin anew: {answer.message}")

        self._as_operator(call, done)

    def load(self, episode: str, done: Done) -> None:
        """Calls `/world/load`."""

        async def call() -> None:
            request = LoadEpisode.Request(episode=episode)
            answer = await self._anew(LoadEpisode, topics.LOAD_WORLD, request)
            good = bool(answer.success)
            done(good, "the world is ready" if good else str(answer.message))

        self._as_operator(call, done)

    async def _anew(self, kind: Any, name: str, request: object) -> Any:
        """Calls a service after which the world begins, and waits until the memory has, too."""
        for client in self._skills.values():
            client.cancel()
        for driver in self._drivers.values():
            driver.stop()
        memory = FreshMemory(self._node)
        try:
            await memory.listen()
            answer = await self._call(kind, name, request).end(WAIT_S)
            if answer.success:
                await memory.begun(MEMORY_WAIT_S)
            return answer
        finally:
            memory.destroy()

    def finish(self, done: Done) -> None:
        """Calls `/evaluation/finish`."""

        async def call() -> None:
            request = self._call(Trigger, topics.FINISH_EVALUATION, Trigger.Request())
            answer = await request.end(WAIT_S)
            done(bool(answer.success), str(answer.message))

        self._as_operator(call, done)

    def answer(self, words: str, done: Done) -> None:
        """Publishes it on `/instruct/answer`."""

        def publish() -> None:
            if self._mouth.get_subscription_count() == 0:
                done(False, "no task planner hears the answer")
                return
            self._mouth.publish(String(data=words))
            done(True, "sent")

        self._run(publish, done)

    def cancel(self, done: Done) -> None:
        """Cancels the goal of this console."""

        def cancel() -> None:
            if self._instruct is None:
                done(False, "no instruction of this console is running; Stop stops all agents")
                return
            self._instruct.cancel()
            done(True, "ends")

        self._run(cancel, done)

    def stop(self, agents: Sequence[str], done: Done) -> None:
        """Cancels what was begun here and calls every agent's service `stop`."""

        async def stop() -> None:
            if self._instruct is not None:
                self._instruct.cancel()
            for client in self._skills.values():
                client.cancel()
            for driver in self._drivers.values():
                driver.stop()
            calls = [
                self._call(Trigger, topics.of_agent(agent, "stop"), Trigger.Request())
                for agent in agents
            ]
            problems = []
            for agent, call in zip(agents, calls, strict=True):
                try:
                    answer = await call.end(STOP_WAIT_S)
                    if not answer.success:
                        problems.append(f"{agent}: {answer.message}")
                except PlannerError as error:
                    problems.append(str(error))
            if not agents:
                problems.append("there is no agent to stop")
            done(not problems, "; ".join(problems) or f"{', '.join(agents)} stopped")

        self._run(stop, done)

    # The partner

    def skill(self, agent: str, call: str, done: Done) -> None:
        """Sends it to `/AGENT/skill` and attends the agent meanwhile."""
        try:
            parsed = parse_call(call)
        except CallError as error:
            done(False, str(error))
            return

        def ended(result: SkillResult) -> None:
            self._attend()
            done(result.succeeded, result.text)

        def begin() -> None:
            if agent not in self._skills:
                done(False, f"there is no agent {agent}")
                return
            self._heartbeat.attend({*self._busy(), agent})
            self._skills[agent].begin(parsed, ended)

        self._run(begin, done)

    def abort(self, agent: str) -> None:
        """Cancels its call, and its driving."""

        def cancel() -> None:
            if agent in self._skills:
                self._skills[agent].cancel()
            if agent in self._drivers:
                self._drivers[agent].stop()

        self._run(cancel, lambda *_: None)

    def drive(self, agent: str, body: str, forward: float, turn: float, done: Done) -> None:
        """Sends primitives `drive` to `/AGENT/primitive` as long as it is repeated."""

        def steer() -> None:
            driver = self._driver(agent, body)
            if driver is None:
                done(False, f"how fast a body of kind {body!r} is driven is not known")
                return
            driver.steer(forward, turn, done)
            self._driving.reset()
            self._attend()

        self._run_as_operator(steer, done)

    def _driver(self, agent: str, kind: str) -> Driver | None:
        if agent in self._drivers:
            return self._drivers[agent]
        body = body_of(kind)
        can = None if body is None else body.capabilities(drives=True)
        if can is None or can.drive is None:
            return None

        def announce() -> None:
            self._heartbeat.attend({*self._busy(), agent})

        client = PrimitiveClient(
            self._node, agent, can, lambda: None, lambda: None, announce=announce
        )
        self._bodies.append(client)
        self._drivers[agent] = Driver(client, can.drive, time.monotonic)
        return self._drivers[agent]

    def _busy(self) -> set[str]:
        calling = {agent for agent, client in self._skills.items() if client.is_busy}
        return calling | {agent for agent, driver in self._drivers.items() if driver.is_busy}

    def _attend(self) -> None:
        self._heartbeat.attend(self._busy())

    def show_pictures(self, *, on: bool) -> None:
        """Notes it for the node, which subscribes."""
        self.shows_pictures = on

    # What only the operator may

    def approve(
        self, agent: str, question: str, answer: Literal["yes", "no", "kind"], done: Done
    ) -> None:
        """Calls `/AGENT/safety/answer`."""

        async def call() -> None:
            request = AnswerQuestion.Request(
                question_id=question, approve=answer != "no", remember_kind=answer == "kind"
            )
            name = topics.of_agent(agent, topics.ANSWER)
            found = await self._call(AnswerQuestion, name, request).end(WAIT_S)
            done(bool(found.success), str(found.message) or "answered")

        self._as_operator(call, done)

    def correct(self, correction: Correct, author: str, done: Done) -> None:
        """Reads the memory, makes an operation of the correction and calls `/memory/edit`."""

        async def call() -> None:
            query = self._call(QueryMemory, topics.QUERY_MEMORY, QueryMemory.Request())
            known = await query.end(WAIT_S)
            if not known.success:
                raise PlannerError(known.message)
            operation = operation_of(correction, [entity_record(e) for e in known.entities])
            message = OperationMessage(kind=_KIND_NUMBERS[operation.kind])
            entity = message.entity
            entity.id, entity.name = operation.entity_id or 0, operation.name or ""
            entity.description = operation.description
            entity.seen_distance_m = float("nan")
            if operation.kind is not OperationKind.REMOVE and operation.position_m is not None:
                entity.position = point_message(operation.position_m)
            request = EditMemory.Request(source=author, operations=[message])
            edited = await self._call(EditMemory, topics.EDIT_MEMORY, request).end(WAIT_S)
            done(bool(edited.success), str(edited.message) or "corrected")

        self._as_operator(call, done)

    def _as_operator(self, call: Callable[[], Any], done: Done) -> None:
        async def guarded() -> None:
            try:
                await call()
            except PlannerError as error:
                done(False, str(error))

        self._run_as_operator(guarded, done)

    def _run_as_operator(self, what: Callable[[], Any], done: Done) -> None:
        if not self._may_operate:
            text = "this console has no operator's keys: open one by `planner console`"
            done(False, text)
            return
        self._run(what, done)

    def _call(self, kind: Any, name: str, request: object) -> ServiceCall:
        return ServiceCall(self._node, kind, name, request)

    def _run(self, what: Callable[[], Any], done: Done) -> None:
        if self._executor is None:
            done(False, "the console has not started yet")
            return
        self._executor.create_task(what)
