"""What the planner publishes, and the house and episode that it receives, as ROS topics."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from planner_msgs.action import FollowInstruction
from planner_msgs.msg import InstructStatus, PlannerTrace, WorldInfo
from rclpy.node import Node
from std_srvs.srv import Trigger

from planner.conversation.talk import as_json
from planner.models.caller import ModelCall
from planner.planning.instruction import InstructionStatus
from planner.planning.planner_inputs import LOCKSTEP_TIME
from planner.planning.session import Status
from planner.ros import parameters, qos
from planner.ros.conversions import header
from planner.ros.guard import SafePublisher
from planner.ros.lifecycle import ManagedNode
from planner.ros.loop_thread import ExecutorQueue, set_from_thread
from planner.ros.memory_messages import key_values, trace_message
from planner.ros.subscriptions import listen
from planner.world import topics
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.memory_wire import stamp_seconds

# The key of the evidence under which it says who said what, as JSON.
CONVERSATION = "conversation"


class StatusPublisher:
    """Publishes the instruction status and planner trace; runs in the executor thread."""

    def __init__(self, node: Node, planner: str, model: str, losses: Counter[str]) -> None:
        """`planner` and `model` are names for the messages; "" = no model."""
        self._planner, self._model = planner, model
        self._current = InstructionStatus()
        # Latched, and deep enough that a recorder that is briefly busy misses nothing.
        self._status_outlet = SafePublisher(
            node, InstructStatus, topics.INSTRUCT_STATUS, qos.TRUTH, losses
        )
        self._trace = SafePublisher(node, PlannerTrace, topics.PLANNER_TRACE, qos.EVENTS, losses)

    @property
    def status(self) -> InstructionStatus:
        """The status published last."""
        return self._current

    def show(self, status: InstructionStatus, now_s: float) -> None:
        """Publishes the instruction's status at a time of the world's clock."""
        self._current = status
        said = {CONVERSATION: as_json(status.said)} if status.said else {}
        self._status_outlet.publish(
            InstructStatus(
                header=header(now_s, "map"),
                id=status.goal_id,
                instruction=status.instruction,
                agents=list(status.agents),
                dialogue=list(status.dialogue),
                planner=self._planner,
                model=self._model,
                house=status.house,
                episode_id=status.episode_id,
                goal=status.goal,
                state=int(status.state),
                code=status.code,
                text=status.text,
                question=status.question,
                cycle=status.cycle,
                plan=status.plan,
                calls=list(status.calls),
                evidence=key_values({**status.evidence, **said}),
            )
        )

    def trace(self, call: ModelCall, now_s: float) -> None:
        """Publishes a model call, or a decision of a planner without a model."""
        self._trace.publish(trace_message(call, now_s))


def decision_of(planner: str, agents: Sequence[str], status: Status) -> ModelCall:
    """A decision of a planner without a model, for the trace."""
    calls = tuple(status.calls[agent] for agent in agents)
    return ModelCall(
        planner=planner,
        model="",
        agents=tuple(agents),
        cycle=status.cycle,
        reply=status.plan,
        calls=calls,
    )


def feedback_of(status: Status) -> FollowInstruction.Feedback:
    """What the client of an instruction is told."""
    return FollowInstruction.Feedback(
        cycle=status.cycle,
        plan=status.plan,
        agents=list(status.calls),
        calls=list(status.calls.values()),
    )


# Wall seconds to wait for the evaluator's answer.
FINISH_TIMEOUT_S = 5.0


class Judge:
    """Asks the evaluator to fix its verdict at the end of an instruction."""

    def __init__(self, node: Node, queue: ExecutorQueue) -> None:
        """`queue`: of the node's executor."""
        self._client: Any = node.create_client(Trigger, topics.FINISH_EVALUATION)
        self._queue = queue

    async def finish(self) -> str:
        """What came of it, for the log; called in another loop than the executor's."""
        loop = asyncio.get_running_loop()
        judged: asyncio.Future[str] = loop.create_future()

        def ask() -> None:
            if not self._client.service_is_ready():
                set_from_thread(loop, judged, "no judge is there")
                return
            answer = self._client.call_async(Trigger.Request())

            def hear(done: Any) -> None:
                set_from_thread(loop, judged, str(done.result().message))

            answer.add_done_callback(hear)

        self._queue.post(ask)
        try:
            async with asyncio.timeout(FINISH_TIMEOUT_S):
                return f"judged: {await judged}"
        except TimeoutError:
            return "the evaluator does not respond"


# The house and episode that the planner works in: those of its parameters or of the bridge.

LOG_PERIOD_S = 30.0


class BridgeWorld:
    """What is known of the world before anything is seen: its layout, episode and time.

    Things are left out of the house, as planners must not know them in advance.

    Attributes:
        episode: the running one, if any.
        layout: the house; None before it is known.
        agents: those of the bridge; () before it has said them.
    """

    def __init__(self, node: ManagedNode) -> None:
        """Reads the parameters.

        Raises:
            PlannerError: for an episode or house that does not exist or is invalid.
        """
        self._node = node
        self._time: tuple[str, str] | None = None
        self.agents: tuple[str, ...] = ()
        self.episode: Episode | None = None
        self.layout: House | None = None
        episode = parameters.text(
            node, "episode", "", "name or file; empty = the one that the bridge runs"
        )
        house = parameters.text(node, "house", "", "name or file; empty = the episode's")
        if episode:
            self._load_episode(episode)
        if house:
            self.layout = load_house(house).layout

    def follow(self, on_house: Callable[[House], None], on_load: Callable[[float], None]) -> None:
        """Switches to each house and episode that the bridge loads.

        Args:
            on_house: called with each new layout, in the executor's thread.
            on_load: called with the time at which each world was loaded, s on its clock.
        """
        self.agents, self._time = (), None
        on_world = partial(self._on_world, on_house, on_load)
        listen(self._node, WorldInfo, topics.WORLD_INFO, on_world, qos.LATCHED)

    @property
    def house_name(self) -> str:
        """The name of the house; "" before one is known."""
        return self.layout.name if self.layout is not None else ""

    @property
    def is_in_lockstep(self) -> bool | None:
        """Whether the world waits for planners; None while its bridge has not said so yet."""
        if self._time is not None:
            return self._time == LOCKSTEP_TIME
        return False if self._node.count_publishers(topics.WORLD_INFO) == 0 else None

    def _on_world(
        self, on_house: Callable[[House], None], on_load: Callable[[float], None], info: WorldInfo
    ) -> None:
        on_load(stamp_seconds(info.header.stamp))
        self.agents = tuple(info.agents)
        self._time = (info.time_mode, info.idle_time)
        try:
            is_new = self._enter(info.layout, info.episode_id)
        except PlannerError as error:
            self._node.get_logger().warning(
                f"the bridge is in a world that is not known here: {error}",
                throttle_duration_sec=LOG_PERIOD_S,
            )
            return
        if is_new and self.layout is not None:
            on_house(self.layout)

    def _enter(self, house: str, episode: str) -> bool:
        """Whether the layout was loaded anew."""
        known = self.episode.episode_id if self.episode is not None else ""
        if episode and episode != known:
            self._load_episode(episode)
            return True
        if house and house != self.house_name:
            self.episode, self.layout = None, load_house(house).layout
            return True
        if not episode:
            self.episode = None
        return False

    def _load_episode(self, episode: str) -> None:
        self.episode, full = load_episode(episode)
        self.layout = full.layout
