"""Node `evaluator`: judges the running episode only from the true states of the world."""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path

from planner_msgs.msg import Evaluation as EvaluationMessage
from planner_msgs.msg import InstructStatus, PropositionState, WorldGraph, WorldInfo
from planner_msgs.msg import WorldState as WorldMessage
from pydantic import JsonValue
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_srvs.srv import Trigger

from planner.evaluation.as_understood import WordsJudge
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import evaluation_of
from planner.evaluation.perceived import PerceivedWorld, TaskStart, task_steps
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import (
    Latched,
    LatchFile,
    Mode,
    Progress,
    PropositionProgress,
    Verdict,
    criteria_word,
    variant_text,
)
from planner.evaluation.scene import MissingEntityError
from planner.ros import parameters, qos
from planner.ros.clients import WaitingNotice, wall_clock
from planner.ros.conversions import header
from planner.ros.guard import SafePublisher
from planner.ros.lifecycle import ManagedNode, run_node
from planner.ros.subscriptions import listen
from planner.world import topics
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import house_from_json, load_episode, load_shipped_house
from planner.world.memory_wire import stamp_seconds
from planner.world.state import UpdateDecoder, WorldState
from planner.world.topics import InstructState
from planner.world.wire import graph_record, state_update

REPUBLISH_S = 1.0
# A finish request may overtake earlier states in the middleware: wait until none has arrived for
# QUIET_S. If the world never rests, the current state is judged after the maximum wait.
QUIET_S = 0.15
MAX_WAIT_S = 2.0
# This process may exit right after its verdict, so the node waits for acknowledgements; a recorder
# may take a while. Shorter than the client's timeout and the grace period of `planner up`.
ACKNOWLEDGE_TIMEOUT_S = 4.0
# Period for logging a state that cannot be judged.
LOG_PERIOD_S = 5.0
NO_EPISODE = "the world runs no episode, so there is no task to judge"


class EvaluatorNode(ManagedNode):
    """Judges one episode after another; `/evaluation/finish` fixes each verdict."""

    def __init__(self) -> None:
        """Reads the parameters.

        Raises:
            PlannerError: for an invalid parameter or episode.
        """
        super().__init__("evaluator")
        episode = parameters.text(
            self, "episode", "", "name or file; empty = the one that /world/state names"
        )
        scoring = parameters.text(self, "scoring", Mode.STRICT, "by whose rules", choices=[*Mode])
        store = parameters.text(
            self, "store", "", "folder that keeps what was achieved if this node dies; empty = none"
        )
        world = parameters.text(
            self,
            "world",
            "simulated",
            "simulated = by /world/state; perceived = by /world_graph, where nobody knows better",
            choices=["simulated", "perceived"],
        )
        self._mode = Mode(scoring)
        self._variant = Variant.PERCEIVED if world == "perceived" else Variant.BOXES
        if self._variant is Variant.PERCEIVED and not episode:
            raise PlannerError("a perceived world has no episode: set the parameter `episode`")
        self._folder = Path(store) if store else None
        self._given = load_episode(episode) if episode else None
        if self._given and self._given[0].evaluation is not None:
            evaluation_of(self._given[0])

    def configure(self) -> None:
        """Subscribes, with nothing judged yet."""
        self._perceived: PerceivedWorld | None = None
        if self._variant is Variant.PERCEIVED and self._given is not None:
            task, house = self._given
            self._perceived = PerceivedWorld(task, house.name)
        self._losses: Counter[str] = Counter()
        self._unseen_states = 0
        self._updates = UpdateDecoder()
        self._last_state_s = -math.inf
        self._state: WorldState | None = None
        self._task: Episode | None = None
        self._evaluator: Evaluator | None = None
        # The state at which the verdict was given.
        self._judged: WorldState | None = None
        self._seen_from_step = 0
        self._verdict: Verdict | None = None
        self._task_start = TaskStart()
        self._words = WordsJudge()
        self._world_info: WorldInfo | None = None
        self._problem = "no state of the world was seen yet"
        # Whether a subscriber has not acknowledged the verdict.
        self._is_unacknowledged = False
        self._publisher = SafePublisher(
            self, EvaluationMessage, topics.EVALUATION, qos.STATE, self._losses
        )
        self._result = SafePublisher(
            self, EvaluationMessage, topics.EVALUATION_RESULT, qos.LATCHED, self._losses
        )
        if self._variant is Variant.PERCEIVED:
            listen(self, WorldGraph, topics.WORLD_GRAPH, self._on_graph, qos.LATCHED)
        else:
            listen(self, WorldMessage, topics.WORLD_STATE, self._on_world, qos.TRUTH_INPUT)
            listen(self, WorldInfo, topics.WORLD_INFO, self._on_info, qos.LATCHED)
            # From the first one on, so that a restarted evaluator learns the start of the task.
            listen(self, InstructStatus, topics.INSTRUCT_STATUS, self._on_status, qos.TRUTH)
        # A callback group of its own, since states must be received while a request waits.
        self.create_service(
            Trigger,
            topics.FINISH_EVALUATION,
            self._on_finish,
            callback_group=ReentrantCallbackGroup(),
        )
        # Steady clock: verdicts are published and requested while simulated time is paused.
        self.create_timer(REPUBLISH_S, self._on_timer, clock=wall_clock())
        WaitingNotice(self, self._missing)

    def activate(self) -> None:
        """Publishes progress; an inactive evaluator processes states without publishing."""
        if self._state is not None:
            self._publish()

    def cleanup(self) -> None:
        """Logs the state of an unfinished episode; gives late subscribers time for the verdict."""
        if self._evaluator is not None and self._verdict is None:
            self._count_from_instruction(self._evaluator)
            print(f"not finished: {summary(self._evaluator.result())}", flush=True)
        if self._is_unacknowledged:
            # The middleware resends the verdict until this process ends. ROS is already shut down,
            # so acknowledgements cannot be waited for.
            time.sleep(ACKNOWLEDGE_TIMEOUT_S)

    def _missing(self) -> list[str]:
        if self._state is not None:
            return []
        if self._variant is Variant.PERCEIVED:
            return [f"{self.resolve_topic_name(topics.WORLD_GRAPH)} of a memory"]
        return [f"{self.resolve_topic_name(topics.WORLD_STATE)} of a simulator's bridge"]

    # Input

    def _on_world(self, message: WorldMessage) -> None:
        self._last_state_s = time.monotonic()
        updates, was_waiting = self._updates, self._updates.waiting
        state = updates.decode(state_update(message))
        if updates.waiting and not was_waiting and self._state is not None:
            self.get_logger().warning("states were lost; nothing is judged until the next keyframe")
        if state is None:
            return
        if updates.missed:
            self._unseen_states += updates.missed
            self.get_logger().warning(f"{updates.missed} states of the world were lost")
        self._take(state)

    def _on_info(self, info: WorldInfo) -> None:
        self._world_info = info

    def _on_status(self, status: InstructStatus) -> None:
        self._task_start.observe(status)
        before = self._words.goal
        stamp_s = stamp_seconds(status.header.stamp)
        state = InstructState(status.state)
        if self._words.instruct(status.id, stamp_s, state, status.goal):
            self._judge_words()
        elif before is not None and self._words.goal is None and self._state is not None:
            # Another instruction, which need not be one in plain English.
            self._begin(self._state)

    def _judge_words(self) -> None:
        """Judges by the goal that was understood, from its instruction on."""
        self._evaluator, self._verdict, self._judged = None, None, None
        if self._state is None:
            return
        try:
            self._task, house = self._world_of(self._state)
            robot = self._task.agents[0].uid if self._task is not None else "agent_0"
            self._evaluator = self._words.evaluator(house, self._mode, robot)
            self._problem = ""
            self.get_logger().info("judging the instruction as it was understood")
        except PlannerError as error:
            self._problem = str(error)
            self.get_logger().warning(f"nothing is judged: {self._problem}")
        self._publish()

    def _world_of(self, state: WorldState) -> tuple[Episode | None, House]:
        if state.episode_id:
            return self._episode_of(state)
        info = self._world_info
        if info is not None and info.house == state.house and info.house_json:
            return None, house_from_json(info.house_json, f"house_json of /{topics.WORLD_INFO}")
        return None, load_shipped_house(state.house)

    def _on_graph(self, message: WorldGraph) -> None:
        if self._perceived is None:
            return
        self._last_state_s = time.monotonic()
        try:
            belief = graph_record(message)
        except (KeyError, IndexError, ValueError) as error:
            self.get_logger().error(f"/world_graph {message.sequence} is not judged: {error}")
            return
        state = self._perceived.state(belief)
        if state is None:
            self.get_logger().info(
                f"/world_graph {message.sequence} is not judged: it is older than the one before",
                throttle_duration_sec=5.0,
            )
            return
        before, self._state = self._state, state
        if before is None:
            self._begin(state)
        else:
            self._go_on(state)

    def _take(self, state: WorldState) -> None:
        before, self._state = self._state, state
        if before is not None and _is_another_run(before, state):
            self._words = WordsJudge()
        self._words.take(state)
        if before is None:
            self._begin(state)
        elif _is_another_run(before, state):
            self._task_start = TaskStart()
            self._begin(state)
        else:
            self._go_on(state)

    def _go_on(self, state: WorldState) -> None:
        if self._evaluator is not None and self._verdict is None:
            self._advance(self._evaluator, state)

    def _begin(self, state: WorldState) -> None:
        self._evaluator, self._verdict, self._task = None, None, None
        self._unseen_states = 0
        if not state.episode_id:
            # A house without an episode has nothing to judge, so this is not an error.
            self._problem = NO_EPISODE
            self.get_logger().info(f"nothing is judged: {self._problem}")
            self._publish()
            return
        try:
            self._task, house = self._episode_of(state)
            self._evaluator = self._make(self._task, house, state)
            self._problem = ""
            self.get_logger().info(f"judging {state.episode_id}: {self._task.instruction}")
        except PlannerError as error:
            self._problem = str(error)
            self.get_logger().warning(f"nothing is judged: {self._problem}")
        self._keep()
        self._publish()

    def _episode_of(self, state: WorldState) -> tuple[Episode, House]:
        if self._given is not None and self._given[0].episode_id == state.episode_id:
            return self._given
        return load_episode(state.episode_id)

    def _make(self, task: Episode, house: House, state: WorldState) -> Evaluator:
        evaluation = evaluation_of(task)
        if house.name != state.house:
            raise PlannerError(
                f"episode {task.episode_id} is of house {house.name}, the world is {state.house}"
            )
        self._seen_from_step = state.step
        latched = None
        # Steps of a perceived world are counted from a start time known only to this node.
        if self._folder is not None and self._variant is not Variant.PERCEIVED:
            file = LatchFile(self._folder, task.episode_id)
            latched = file.read(self._mode, state.step, _asked(task))
        if latched is not None:
            self.get_logger().info(f"continues from step {latched.step}")
            self._unseen_states = state.step - latched.step
            self._seen_from_step = 0
        latches = latched.latches if latched else None
        return Evaluator(
            evaluation,
            house,
            state,
            self._mode,
            latches,
            variant=self._variant,
            criteria=task.criteria,
            robot=task.agents[0].uid,
        )

    def _advance(self, evaluator: Evaluator, state: WorldState) -> None:
        before = evaluator.progress
        try:
            evaluator.update(state)
        except PlannerError as error:
            if isinstance(error, MissingEntityError) and not self._problem:
                # A verdict would be about a world that is no more.
                self._problem = str(error)
                self._publish()
            # Keep the last judgement; a later valid state is judged again.
            self.get_logger().error(
                f"step {state.step} is not judged: {error}", throttle_duration_sec=LOG_PERIOD_S
            )
            return
        now, self._problem = evaluator.progress, ""
        if now.propositions is not before.propositions or now.criteria is not before.criteria:
            self._keep()
            self._publish()

    def _keep(self) -> None:
        """Writes the latches to disk."""
        if self._folder is None or self._evaluator is None or self._task is None:
            return
        if self._words.goal is not None:
            # What was understood is bound to the world of then, which nobody keeps.
            return
        latched = Latched(
            episode_id=self._task.episode_id,
            mode=self._mode,
            step=self._evaluator.progress.sim_steps,
            evaluation=_asked(self._task),
            latches=self._evaluator.latches(),
        )
        try:
            LatchFile(self._folder, self._task.episode_id).write(latched)
        except PlannerError as error:
            self.get_logger().error(str(error), once=True)

    # Output

    async def _on_finish(
        self, _request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        requested_s = time.monotonic()
        while self.is_active and not self._is_quiet(requested_s):
            await self._pause()
        if self.refusal or self._evaluator is None or self._problem:
            response.success, response.message = False, self.refusal or self._problem
            return response
        try:
            response.message = summary(self._finish(self._evaluator))
        except PlannerError as error:
            response.success, response.message = False, str(error)
        else:
            response.success = True
        return response

    def _is_quiet(self, requested_s: float) -> bool:
        now_s = time.monotonic()
        quiet = (
            now_s - max(self._last_state_s, requested_s) >= QUIET_S and not self._updates.waiting
        )
        return self._verdict is not None or quiet or now_s - requested_s >= MAX_WAIT_S

    async def _pause(self) -> None:
        over: Future[None] = Future(executor=self.executor)
        timer = self.create_timer(QUIET_S / 5, lambda: over.set_result(None), clock=wall_clock())
        await over
        self.destroy_timer(timer)

    def _finish(self, evaluator: Evaluator) -> Verdict:
        if self._verdict is None:
            self._judged = self._state
            self._count_from_instruction(evaluator)
            self._verdict = evaluator.finish()
            self.get_logger().info(summary(self._verdict))
            # Also where Ctrl-C interrupts what follows.
            self._is_unacknowledged = True
            self._result.publish(self._message())
            self._publish()
            if self._folder is not None and self._task is not None:
                try:
                    LatchFile(self._folder, self._task.episode_id).remove()
                except PlannerError as error:
                    self.get_logger().error(str(error))
            self._is_unacknowledged = not self._result.wait_until_heard(ACKNOWLEDGE_TIMEOUT_S)
            if self._is_unacknowledged:
                self.get_logger().warning("not every subscriber has acknowledged the verdict")
        return self._verdict

    def _count_from_instruction(self, evaluator: Evaluator) -> None:
        state = self._state
        # Steps of a perceived world count from its first graph.
        if state is not None and self._perceived is None:
            steps = task_steps(state.step, state.stamp_s, self._start_s)
            evaluator.start_step = state.step - steps

    @property
    def _start_s(self) -> float | None:
        return self._task_start.start_s if self._words.goal is None else self._words.start_s

    def _on_timer(self) -> None:
        self._publish()
        self._is_unacknowledged = self._is_unacknowledged and not self._result.wait_until_heard(0.0)

    def _publish(self) -> None:
        if self.is_active:
            self._publisher.publish(self._message())

    def _message(self) -> EvaluationMessage:
        state = self._state if self._verdict is None else self._judged
        message = EvaluationMessage(
            header=header(state.stamp_s if state else 0.0, "map"),
            episode_id=state.episode_id if state else "",
            sim_step=state.step if state else 0,
            scoring=str(self._mode),
            explanation=self._problem,
            variant=str(self._variant),
            seen_from_step=self._seen_from_step,
            unseen_states=self._unseen_states,
        )
        start_s = self._start_s if self._perceived is None else self._perceived.start_s
        message.start_s = math.nan if start_s is None else start_s
        if self._evaluator is not None:
            _fill(message, self._verdict or self._evaluator.progress)
            message.explanation = self._problem or message.explanation
        if self._verdict is not None:
            message.status = (
                EvaluationMessage.SUCCEEDED if self._verdict.success else EvaluationMessage.FAILED
            )
        return message


def _asked(task: Episode) -> JsonValue:
    """The part of the task that latches belong to."""
    if task.criteria is None:
        return task.evaluation
    return {"evaluation": task.evaluation, "criteria": task.criteria.model_dump(mode="json")}


def _is_another_run(before: WorldState, state: WorldState) -> bool:
    place, place_before = (state.house, state.episode_id), (before.house, before.episode_id)
    return place != place_before or (state.step, state.revision) < (before.step, before.revision)


def _fill(message: EvaluationMessage, progress: Progress | Verdict) -> None:
    message.variant = variant_text(progress)
    message.percent_complete = progress.percent_complete
    message.propositions = [_proposition(item) for item in progress.propositions]
    message.explanation = progress.explanation
    if progress.criteria is not None:
        message.criteria = criteria_word(progress.criteria)
        message.criteria_explanation = progress.criteria.explanation


def _proposition(item: PropositionProgress) -> PropositionState:
    return PropositionState(
        index=item.index,
        text=item.text,
        holds=item.holds,
        satisfied=item.satisfied,
        first_step=-1 if item.first_step is None else item.first_step,
        reason=item.reason or "",
        detail=item.detail,
    )


def summary(verdict: Verdict) -> str:
    """A verdict in one line."""
    word = "success" if verdict.success else "failure"
    text = (
        f"{word}  percent_complete: {verdict.percent_complete:.2f}  "
        f"sim_steps: {verdict.sim_steps}  scoring: {verdict.mode}"
    )
    return f"{text}  {verdict.explanation}".rstrip()


def main() -> int:
    """Runs the node until it is asked to stop."""
    return run_node(EvaluatorNode)
