"""The task-planner node: follows one instruction at a time (docs/planning.md)."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from planner_msgs.action import FollowInstruction
from planner_msgs.msg import EntityList, MemoryUpdate, WorldGraph, WorldGraphNode
from pydantic import JsonValue
from std_msgs.msg import String

from planner.conversation.talk import Next, Reply, Said, reply_without_task
from planner.conversation.utterances import Kind, utterance_of
from planner.models.caller import ModelCall
from planner.models.ledger import Account, LedgerModel
from planner.planning import settings
from planner.planning.instruction import (
    InstructionStatus,
    Request,
    RequestError,
    accepted,
    agents_of,
    instruction_text,
    task_of,
)
from planner.planning.part import make_planner, needs_model
from planner.planning.planner import Planner, Task, TeamMessage, no_picture
from planner.planning.planner_inputs import RosInputs, is_soon
from planner.planning.ros_world import RosMessages, RosWorld
from planner.planning.session import Outcome, Questions, Session, Status
from planner.planning.status.node import (
    BridgeWorld,
    Judge,
    StatusPublisher,
    decision_of,
    feedback_of,
)
from planner.planning.talking import Conversation
from planner.planning.walking import walk_map
from planner.ros import parameters, qos
from planner.ros.agent_topics import TeamTalk
from planner.ros.camera_input import NewestPictures
from planner.ros.clients import WaitingNotice, wall_clock
from planner.ros.goal_server import Goal, GoalServer
from planner.ros.guard import guard_of
from planner.ros.heartbeat import HeartbeatPublisher
from planner.ros.lifecycle import ManagedNode, run_node
from planner.ros.lockstep import LockstepChannel, LockstepPublisher, LockstepSubscriber
from planner.ros.loop_thread import ExecutorQueue, LoopThread
from planner.ros.memory_messages import key_values
from planner.ros.skill_client import OnEnd, SkillClient
from planner.ros.subscriptions import WorldClock, listen
from planner.world import topics
from planner.world.bounds import OutOfBounds
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.memory_wire import stamp_seconds
from planner.world.skill import SkillCall
from planner.world.topics import InstructionCode

WATCH_S = 0.2
LOG_PERIOD_S = 5.0
# A client that has not received the acceptance sends its instruction again, each time after
# `planner.ros.goal_server.ACCEPT_TIMEOUT_S`; results are kept so that it is not followed twice.
RESULT_LIFETIME_S = 60
ANSWER = topics.INSTRUCT_ANSWER
NOTHING_YET = Status(0, "", {})
# If the world's clock jumps back by more than this, the world was restarted or reloaded.
BACKWARDS_S = 0.5


# Instructions that wait for the end of the running one.
MAX_QUEUED = 10


class TaskPlannerNode(ManagedNode):
    """Serves /instruct. Decisions and waits run in an event loop of their own, not in callbacks."""

    def __init__(self) -> None:
        """Reads the parameters.

        Raises:
            PlannerError: for an invalid parameter, episode or model.
        """
        super().__init__("task_planner")
        try:
            self._declare()
        except PlannerError:
            super().destroy_node()
            raise

    def configure(self) -> None:
        """Creates subscriptions, publishers and servers."""
        self._hands: dict[str, SkillClient] = {}
        self._losses: Counter[str] = Counter()
        self._goal: Goal | None = None
        self._lost: Outcome | None = None
        self._world_s = 0.0
        self._clock_of_world = WorldClock(self)
        self._queued: deque[tuple[Goal, Request]] = deque()
        self._work: asyncio.Task[Outcome] | None = None
        self._status = NOTHING_YET
        self._queue = ExecutorQueue(self)
        self._loop = LoopThread("task_planner", self._on_loop_error)
        self._heartbeat = HeartbeatPublisher(
            self, through_skills=True, is_alive=self._loop.is_responsive
        )
        self._settled = LockstepSubscriber(self, LockstepChannel.WORLD, self._on_settled)
        self._inputs = RosInputs(lambda: self._settled.is_present)
        self._pictures = NewestPictures(self) if self._settings.wants_pictures else None
        self._team = TeamTalk(self, self._on_said) if self._settings.choice.part.asks.team else None
        self._messages: RosMessages | None = None
        wait_s = self._settings.answer_wait_s
        self._conversation = Conversation(self._inputs, self._questions, self._tell, wait_s)
        self._inputs.set_house(self._world.layout)
        self._world.follow(
            lambda house: self._loop.call(partial(self._inputs.set_house, house)),
            lambda loaded_s: self._loop.call(partial(self._inputs.begin_world, loaded_s)),
        )
        self._lockstep = LockstepPublisher(self, LockstepChannel.PLANNER, self._losses)
        model = self._settings.model
        self._publisher = StatusPublisher(
            self, self._planner, model.name if model is not None else "", self._losses
        )
        self._judge = Judge(self, self._queue)
        listen(self, WorldGraph, topics.WORLD_GRAPH, self._on_graph, qos.LATCHED)
        pass_on, inputs = self._loop.pass_on, self._inputs
        listen(self, MemoryUpdate, topics.MEMORY_UPDATES, pass_on(inputs.update), qos.EVENTS)
        listen(self, EntityList, topics.MEMORY_ENTITIES, pass_on(inputs.mend), qos.LATCHED)
        listen(self, String, ANSWER, self._on_answer, qos.EVENTS, f"/{ANSWER}")
        self._server = GoalServer(
            self,
            FollowInstruction,
            topics.INSTRUCT,
            on_goal=self._on_goal,
            on_wrong=self._on_wrong,
            on_cancel=self._on_cancel,
            now_s=lambda: float(self.get_clock().now().nanoseconds) * 1e-9,
            fault_code=int(InstructionCode.PLANNER_FAULT),
            result_lifetime_s=RESULT_LIFETIME_S,
        )
        # Steady clock: the watchdog must run while simulated time is paused.
        self._timer = self.create_timer(WATCH_S, self._watch, clock=wall_clock(), autostart=False)
        WaitingNotice(self, self._missing)
        self._publish_status(InstructionStatus(house=self._world.house_name))

    def deactivate(self) -> None:
        """Ends the running instruction and stops its agents; those that wait end, too."""
        for waiting, _ in list(self._queued):
            self._drop_queued(waiting, "task_planner was deactivated")
        if self._goal is not None:
            self._abort(Outcome(InstructionCode.CANCELED, "task_planner was deactivated"))

    def cleanup(self) -> None:
        """Stops all agents."""
        for client in self._hands.values():
            client.cancel()
        self._heartbeat.destroy()
        self._loop.stop()

    def _declare(self) -> None:
        self._settings = settings.declare(self)
        self._planner = self._settings.choice.name
        self._questions = Questions(self._settings.answer_wait_s)
        self._world = BridgeWorld(self)
        if self._world.layout is not None:
            # Computed in advance: a second's work in a large house.
            walk_map(self._world.layout)
        self._max_calls = parameters.whole(
            self, "max_calls", 0, "planner calls of a task; 0 = the planner's own", min_value=0
        )
        self._wait_s = parameters.number(
            self, "wait", 60.0, "seconds to wait for the memory", min_value=0.0, max_value=3600.0
        )

    def _missing(self) -> list[str]:
        if self._hands:
            return []
        return [f"{self.resolve_topic_name(topics.WORLD_GRAPH)} of a memory that knows of an agent"]

    # Inputs

    def _on_graph(self, message: WorldGraph) -> None:
        for node in message.nodes:
            # Create the clients now, since discovering a server takes longer than calling it.
            if node.kind == WorldGraphNode.KIND_AGENT and node.name not in self._hands:
                self._heartbeat.advertise(node.name)
                self._hands[node.name] = SkillClient(self, node.name)
                if self._pictures is not None:
                    self._pictures.add(node.name)
                if self._team is not None:
                    self._team.add(node.name)
        self._clock_of_world.update(stamp_seconds(message.header.stamp))
        self._loop.call(partial(self._inputs.set_graph, message))

    def _on_loop_error(self, error: Exception) -> None:
        guard_of(self).contain(error, "the planner's loop")

    def _on_said(self, agent: str, text: str) -> None:
        def hear() -> None:
            if self._messages is not None:
                self._messages.hear(TeamMessage.of(agent, text))
                self._inputs.notify()

        self._loop.call(hear)

    def _on_settled(self, agent: str, stamp_s: float) -> None:
        self._loop.call(partial(self._inputs.settle, agent, stamp_s))

    def _watch_world(self) -> None:
        """Ends the instruction if the world was restarted, since its effects are undone."""
        before_s, self._world_s = self._world_s, self._clock_of_world.now_s
        if self._world_s < before_s - BACKWARDS_S:
            text = (
                f"the world restarted: its time went from {before_s:.1f} s back to "
                f"{self._world_s:.1f} s; give the instruction again"
            )
            self._abort(Outcome(InstructionCode.WORLD_LOST, text))

    def _abort(self, outcome: Outcome) -> None:
        """Stops all agents and ends the instruction for a reason other than its client's."""
        self._lost = outcome
        self._log(f"{outcome.text}; all agents stop")
        self._loop.call(self._stop)

    # Instructions

    def _on_goal(self, goal: Goal) -> None:
        if self.refusal:
            self._conclude(goal, Outcome(InstructionCode.NOT_READY, self.refusal))
            return
        request = goal.request
        if self._goal is not None:
            self._hear(request.instruction, partial(self._reply, goal), list(request.dialogue))
        elif reply := reply_without_task(request.instruction):
            self._reply(goal, reply)
        else:
            self._accept(goal, _request_of(goal))

    def _accept(self, goal: Goal, request: Request) -> None:
        """Begins to follow an instruction."""
        self._goal, self._lost = goal, None
        text = instruction_text(request, self._world.episode)
        self._conversation.accept(text, lambda: self._clock_of_world.now_s)
        self._world_s = self._clock_of_world.now_s
        self._publish_status(
            accepted(
                bytes(goal.goal_id.uuid).hex(),
                request,
                self._world.episode,
                self._world.house_name,
                agents_of(self._world.episode),
            )
        )
        self._keep_watch()
        self._loop.call(partial(self._start, goal, request, self._world.episode))

    def _hear(
        self, text: str, answer: Callable[[Reply], None], dialogue: Sequence[str] | None = None
    ) -> None:
        """Takes up what is said while an instruction is followed; stop before anything is read."""
        session = self._conversation.session
        if utterance_of(text).halts and session is not None:
            # In this thread: the planner's may be busy with a decision.
            session.forbid()
            for client in self._hands.values():
                client.cancel()

        def take(reply: Reply) -> None:
            if reply.next is Next.END:
                self._stop()
            self._queue.post(partial(answer, reply))

        hearing = partial(self._conversation.hear, text, dialogue, take)
        self._loop.call(lambda: asyncio.ensure_future(hearing()))

    def _reply(self, goal: Goal, reply: Reply) -> None:
        """Ends a goal with the reply to what it said, unless its task comes afterwards, or now."""
        if reply.next not in (Next.QUEUE, Next.REPLACE):
            self._conclude(goal, Outcome(reply.code, reply.text, reply.question))
            return
        if len(self._queued) >= MAX_QUEUED:
            text = f"{MAX_QUEUED} instructions are waiting already"
            self._conclude(goal, Outcome(InstructionCode.BUSY, text))
            return
        request = replace(_request_of(goal), instruction=reply.instruction, dialogue=())
        self._queued.append((goal, request))
        if reply.next is Next.REPLACE:
            self._queued.rotate()
            if self._goal is not None:
                text = f"replaced by: {reply.instruction[:200]}"
                self._abort(Outcome(InstructionCode.CANCELED, text))
        self._begin_queued()

    def _begin_queued(self) -> None:
        if self._goal is None and self._queued:
            self._accept(*self._queued.popleft())

    def _drop_queued(self, goal: Goal, why: str) -> None:
        """Ends a goal that waits for its turn."""
        self._queued = deque(one for one in self._queued if one[0] != goal)
        self._conclude(goal, Outcome(InstructionCode.CANCELED, why))

    def _on_wrong(self, goal: Goal, problem: OutOfBounds) -> None:
        text = f"the request is out of bounds: {problem}"
        self._conclude(goal, Outcome(InstructionCode.BAD_REQUEST, text))

    def _on_cancel(self, goal: Goal) -> None:
        if goal == self._goal:
            self._log("the instruction is canceled: all agents stop")
            self._loop.call(self._stop)
        elif any(goal == waiting for waiting, _ in self._queued):
            self._drop_queued(goal, "canceled before it began")

    def _keep_watch(self) -> None:
        if self._timer.is_canceled():
            self._timer.reset()

    def _watch(self) -> None:
        self._lockstep.repeat()
        for client in self._hands.values():
            client.watch()
        if self._goal is not None and self._lost is None:
            self._watch_world()
        if self._goal is not None and self._lost is None:
            reason = self._server.lost_client(self._goal)
            if reason:
                text = f"nobody waits for the instruction any more: {reason}"
                self._abort(Outcome(InstructionCode.CANCELED, text))
        for waiting, _ in list(self._queued):
            if reason := self._server.lost_client(waiting):
                self._drop_queued(waiting, f"nobody waits for the instruction any more: {reason}")
        if self._goal is None and not any(client.is_busy for client in self._hands.values()):
            self._timer.cancel()

    def _over(self, goal: Goal, outcome: Outcome) -> None:
        if self._lost is not None and outcome.code is InstructionCode.CANCELED:
            outcome = self._lost
        self._goal = self._lost = None
        # All agents have stopped.
        self._heartbeat.attend(())
        self._log(f"{outcome.code.name}: {outcome.text}")
        self._publish_status(self._publisher.status.ended(outcome))
        self._conclude(goal, outcome)
        self._begin_queued()

    def _conclude(self, goal: Goal, outcome: Outcome) -> None:
        result = FollowInstruction.Result(
            code=int(outcome.code),
            text=outcome.text,
            question=outcome.question,
            evidence=key_values(outcome.evidence),
        )
        self._server.conclude(
            goal,
            result,
            succeeded=outcome.code in (InstructionCode.DONE, InstructionCode.QUESTION),
            canceled=outcome.code is InstructionCode.CANCELED,
        )

    # In the executor's thread, requested by the loop

    def _begin(self, agent: str, call: SkillCall, on_end: OnEnd) -> None:
        if agent not in self._hands:
            self._hands[agent] = SkillClient(self, agent)
        # Deciding may have taken long, so report now instead of at the next timer.
        self._heartbeat.send_now()
        self._hands[agent].begin(call, on_end)
        self._keep_watch()

    def _cancel(self, agent: str) -> None:
        if agent in self._hands:
            self._hands[agent].cancel()

    # In the event loop

    def _tell(self, said: tuple[Said, ...], text: str, calls: Mapping[str, str]) -> None:
        """Publishes what was said."""
        self._log(f"said: {said[-2:][0].text!r}; reply: {text}")
        self._queue.post(
            lambda: self._publish_status(self._publisher.status.talked(said, text, calls))
        )

    def _start(self, goal: Goal, request: Request, episode: Episode | None) -> None:
        following = self._follow_instruction(goal, request, episode)
        work = self._work = asyncio.ensure_future(following)

        def end(done: asyncio.Task[Outcome]) -> None:
            self._work = None
            if done.cancelled():
                outcome = Outcome(InstructionCode.CANCELED, "canceled before it began")
            elif done.exception() is not None:
                # A bug in a planner: report it and keep serving.
                text = f"the planner broke: {done.exception()!r}"
                outcome = Outcome(InstructionCode.PLANNER_FAULT, text)
            else:
                outcome = done.result()
            self._queue.post(partial(self._over, goal, outcome))

        work.add_done_callback(end)

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()

    async def _await_pictures(self, agents: tuple[str, ...]) -> None:
        """Waits a moment for the first picture of each agent, if the planner reads pictures."""
        pictures = self._pictures
        if pictures is None:
            return
        if not await is_soon(lambda: all(map(pictures.has, agents))):
            blind = ", ".join(agent for agent in agents if not pictures.has(agent))
            self._log(f"no picture has come from {blind}")

    def _is_in_step(self) -> bool:
        waits = self._world.is_in_lockstep
        in_step = self._lockstep.is_heard and self._settled.is_present
        return waits is not None and (not waits or in_step)

    async def _follow_instruction(
        self, goal: Goal, request: Request, episode: Episode | None
    ) -> Outcome:
        if not await self._ready():
            text = f"no memory published a house and an agent within {self._wait_s:.0f} s"
            return Outcome(InstructionCode.NOT_READY, text)
        names = request.agents or agents_of(episode) or self._world.agents
        # A memory that has just started publishes the agents one after another.
        await is_soon(lambda: all(name in self._inputs.agents for name in names))
        if not await is_soon(self._is_in_step):
            self._log("the world does not wait for this planner")
        try:
            task = task_of(request, episode, self._inputs.agents)
        except RequestError as error:
            return Outcome(error.code, str(error))
        meant = self._conversation.meant(task)
        if isinstance(meant, Outcome):
            return meant
        by_names, task = meant.goal is not None and task.goal is None, meant
        house = self._inputs.layout.name
        # Heartbeats start before anything is requested of an agent.
        self._queue.post(partial(self._heartbeat.attend, task.agents))
        self._queue.post(
            lambda: self._publish_status(self._publisher.status.understood(task, house))
        )
        settings, account = self._settings, Account()
        chosen = settings.choice_for(max_calls := int(goal.request.max_calls) or self._max_calls)
        if by_names:
            # Names need no reading.
            chosen = replace(chosen, name="expert", options={})
        choice = chosen.for_task(task)
        if choice.part.needs.model and settings.model is None:
            return Outcome(InstructionCode.NO_GOAL, needs_model(self._planner))
        await self._await_pictures(task.agents)
        self._log(f"the instruction, for {', '.join(task.agents)}: {task.instruction[:400]}")
        self._status = NOTHING_YET
        announce = partial(self._announce, goal)
        model = None
        if settings.model is not None:
            settings.model.on_wait = announce
            model = LedgerModel(settings.model, (account, settings.run), settings.prices)

        def make(task: Task) -> Planner:
            return make_planner(chosen, task, model, self._publish_trace)

        try:
            planner = make(task)
        except PlannerError as error:
            return Outcome(InstructionCode.BAD_REQUEST, str(error))
        ask = partial(self._ask, announce)
        asks = choice.part.asks.person or choice.dialogue.max_questions > 0
        self._messages = self._made_messages(task)
        world = RosWorld(
            self._inputs,
            start=lambda *call: self._queue.post(partial(self._begin, *call)),
            cancel=lambda agent: self._queue.post(partial(self._cancel, agent)),
            log=self._log,
            on_status=partial(self._show, goal, task),
            on_goal=partial(self._on_understood, task.goal is None),
            picture=self._pictures.picture if self._pictures is not None else no_picture,
            talk=self._messages,
        )
        session = Session(
            task, planner, world, max_calls, ask if asks else None, self._publish_turn
        )
        self._conversation.begin(session, make)
        try:
            outcome = await session.run()
        finally:
            self._conversation.end()
        if model is not None:
            outcome = replace(outcome, evidence={**outcome.evidence, **account.as_evidence()})
        if self._publisher.status.goal and outcome.code is not InstructionCode.CANCELED:
            self._log(await self._judge.finish())
        return outcome

    def _made_messages(self, task: Task) -> RosMessages | None:
        team = self._team
        if team is None:
            return None

        def send(message: TeamMessage) -> None:
            self._queue.post(partial(team.say, message.sender, message.text))

        return RosMessages(task.agents, send, self._inputs.changed, self._log)

    def _on_understood(self, is_text: bool, goal: Mapping[str, JsonValue]) -> None:
        """Publishes what the planner has understood, before anything moves for it."""
        if not is_text and not self._conversation.talk.is_revised:
            return
        self._conversation.talk.understood(goal)
        self._queue.post(lambda: self._publish_status(self._publisher.status.understanding(goal)))

    def _publish_turn(self, agent: str, deciding: bool) -> None:
        """Tells a world in lockstep whether to wait for the agent's next call."""
        self._queue.post(partial(self._lockstep.publish, agent, 0.0 if deciding else math.inf))

    async def _ready(self) -> bool:
        waited_s = 0.0
        while not self._inputs.ready:
            if waited_s >= self._wait_s:
                return False
            if waited_s % LOG_PERIOD_S == 0.0:
                self._log("waiting for the memory")
            await asyncio.sleep(0.05)
            waited_s = round(waited_s + 0.05, 2)
        return True

    def _announce(self, goal: Goal, line: str) -> None:
        """Puts into the feedback what delays the planner; "" = no longer delayed."""
        self._log(line or "the model is back")
        self._feed_back(goal, replace(self._status, plan=line or self._status.plan))

    async def _ask(self, announce: Callable[[str], None], question: str) -> str | None:
        """Asks the person and publishes that the instruction is waiting for the answer."""
        self._queue.post(lambda: self._publish_status(self._publisher.status.asking(question)))
        answer = await self._questions.ask(question, show=announce)
        self._queue.post(lambda: self._publish_status(self._publisher.status.answered(answer)))
        return answer

    def _on_answer(self, message: String) -> None:
        kind = utterance_of(message.data).kind
        hear = partial(self._hear, message.data, lambda _reply: None)
        if self._goal is not None and kind is Kind.STOP:
            # It is no answer, whatever was asked.
            hear()
            return

        def take() -> None:
            goes_on = (
                kind is Kind.GO_ON and self._goal is not None and self._conversation.talk.is_held
            )
            if not goes_on and self._questions.answer(message.data):
                return
            if self._goal is None:
                self._log("ignored an answer without a question")
            else:
                self._queue.post(hear)

        self._loop.call(take)

    def _show(self, goal: Goal, task: Task, status: Status) -> None:
        self._status = status
        self._feed_back(goal, status)
        if not self._settings.choice.part.needs.model:
            self._publish_trace(decision_of(self._planner, task.agents, status))

    def _feed_back(self, goal: Goal, status: Status) -> None:
        def tell() -> None:
            if goal == self._goal and goal.is_active:
                self._publish_status(self._publisher.status.running(status))
                goal.publish_feedback(feedback_of(status))

        self._queue.post(tell)

    def _publish_trace(self, call: ModelCall) -> None:
        # Of one without an answer the feedback or the result will report.
        if call.answered:
            self._queue.post(partial(self._publisher.trace, call, self._inputs.belief.stamp_s))

    def _publish_status(self, status: InstructionStatus) -> None:
        """Publishes the status of the newest instruction."""
        self._publisher.show(status, self._clock_of_world.now_s)

    def _log(self, line: str) -> None:
        self.get_logger().info(line)


def _request_of(goal: Goal) -> Request:
    request = goal.request
    return Request(request.instruction, tuple(request.agents), tuple(request.dialogue))


def main() -> int:
    """Runs the node until it is asked to stop."""
    return run_node(TaskPlannerNode)
