"""Sessions: deciding, acting, waiting for the memory, stopping; without ROS."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from planning_toys import ToyWorld, capabilities, prop, task_of

from planner.models.chat import ModelError
from planner.models.teacher import ScriptedModel
from planner.parts.calls import parse_call
from planner.planning.dialogues import limit_reached, make_react
from planner.planning.expert.expert import Expert
from planner.planning.planner import (
    AgentResult,
    Context,
    Decision,
    Exchange,
    Planner,
    Task,
    TeamMessage,
)
from planner.planning.ros_world import RosMessages, RosWorld, is_shown
from planner.planning.session import Outcome, Session, Status
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.topics import InstructionCode

Make = Callable[..., ToyWorld]
CUP_TO_COUCH = {"propositions": [prop("is_on_top", ["cup_0"], ["couch_0"])]}


class Around:
    """A toy world whose memory tells of what was done some wall seconds late."""

    def __init__(self, toy: ToyWorld, late_s: float = 0.0, skill_s: float = 0.0) -> None:
        self.toy, self.late_s, self.skill_s = toy, late_s, skill_s
        self._belief = toy.belief()
        self._listeners: list[asyncio.Future[None]] = []
        self.lines: list[str] = []
        self.shown: list[Status] = []
        self.stopped: list[str] = []
        self._skills: dict[str, asyncio.Task[None]] = {}
        self.world = RosWorld(self, self._start, self._cancel, self.lines.append, self.shown.append)

    def with_talk(self, agents: tuple[str, ...]) -> Around:
        """The same with messages between agents, which come back somewhat later."""
        talk = RosMessages(agents, self._send, self.changed, self.lines.append)
        self.talk = talk
        self.world = RosWorld(
            self, self._start, self._cancel, self.lines.append, self.shown.append, talk=talk
        )
        return self

    def _send(self, message: TeamMessage) -> None:
        def hear() -> None:
            self.talk.hear(message)
            self.notify()

        asyncio.get_running_loop().call_later(0.02, hear)

    @property
    def belief(self) -> Belief:
        return self._belief

    @property
    def lacks_changes(self) -> bool:
        return False

    def make_up(self) -> None:
        """Nothing is lacking."""

    @property
    def layout(self) -> House:
        return self.toy.house.layout

    def capabilities(self) -> Mapping[str, Capabilities]:
        return {name: capabilities(kind) for name, kind in self.toy.agents.items()}

    def deltas(self, since: int) -> Sequence[str]:
        return []

    def _start(self, agent: str, call: SkillCall, on_end: Callable[[SkillResult], None]) -> None:
        self._skills[agent] = asyncio.ensure_future(self._carry_out(agent, call, on_end))

    def _cancel(self, agent: str) -> None:
        # What has ended is told of, whatever is canceled then.
        if agent in self._skills:
            self._skills[agent].cancel()

    async def _carry_out(
        self, agent: str, call: SkillCall, on_end: Callable[[SkillResult], None]
    ) -> None:
        try:
            await asyncio.sleep(self.skill_s)
        except asyncio.CancelledError:
            self.stopped.append(agent)
            on_end(SkillResult.failure(SkillCode.CANCELED, "The skill was canceled."))
            return
        del self._skills[agent]
        on_end(self.toy.carry_out(agent, call))
        await self._spread()

    async def _spread(self) -> None:
        await asyncio.sleep(self.late_s)
        self._show(self.toy.belief())

    def _show(self, belief: Belief) -> None:
        self._belief = belief
        self.notify()

    def notify(self) -> None:
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            if not listener.done():
                listener.set_result(None)

    def is_settled(self, agent: str, stamp_s: float) -> bool:
        return True

    def unsettle(self, agent: str) -> None: ...

    async def changed(self) -> None:
        listener: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listeners.append(listener)
        await listener


def run(planner: Planner, around: Around, task: Task, most: int = 0) -> Outcome:
    return asyncio.run(asyncio.wait_for(Session(task, planner, around.world, most).run(), 20))


def test_a_task_from_words_to_done(toy_world: Make) -> None:
    around = Around(toy_world())
    task = task_of(around.toy, CUP_TO_COUCH)
    outcome = run(Expert(task), around, task)
    assert outcome.code is InstructionCode.DONE
    assert around.toy.things["cup_0"][1] == "couch_0"
    assert outcome.evidence["failed_calls"] == "0"
    assert [status.cycle for status in around.shown] == list(range(1, len(around.shown) + 1))
    assert any("Pick[cup_0]" in line for line in around.lines)
    assert around.shown[0].plan


def test_a_late_memory_makes_nobody_do_things_twice(toy_world: Make) -> None:
    around = Around(toy_world(), late_s=0.05)
    task = task_of(around.toy, CUP_TO_COUCH)
    assert run(Expert(task), around, task).code is InstructionCode.DONE
    calls = [call for _, call, _ in around.toy.log]
    assert len(calls) == len(set(calls))


def test_a_memory_that_never_shows_it_is_not_waited_for_for_ever(
    toy_world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.planning.ros_world.EFFECT_TIMEOUT_S", 0.05)
    around = Around(toy_world(), late_s=0.3)
    task = task_of(around.toy, CUP_TO_COUCH)
    outcome = run(Expert(task), around, task)
    assert outcome.code in (InstructionCode.DONE, InstructionCode.GAVE_UP)
    assert any("the memory does not show" in line for line in around.lines)


class Forgets(Around):
    """Its memory begins anew after each skill and tells of the agents only later, or never."""

    def __init__(self, toy: ToyWorld, again: bool) -> None:
        super().__init__(toy)
        self.again = again

    async def _spread(self) -> None:
        known = self.toy.belief()
        left = {name: node for name, node in known.nodes.items() if name not in self.toy.agents}
        self._show(replace(known, nodes=left))
        if self.again:
            await asyncio.sleep(0.02)
            self._show(self.toy.belief())


def test_what_the_operator_refused_is_not_asked_again_in_the_same_task(toy_world: Make) -> None:
    toy = toy_world()
    refused = SkillResult.failure(SkillCode.NOT_ALLOWED, "The agent is not allowed to move.")
    refused = replace(refused, evidence={"reason": "REFUSED"})
    asked: list[str] = []

    def operator(_agent: str, call: SkillCall) -> SkillResult | None:
        if call.name != SkillName.PICK:
            return None
        asked.append(str(call))
        return refused

    toy.fault = operator
    task = task_of(toy, CUP_TO_COUCH, "agent_0")
    outcome = run(Expert(task), Around(toy), task)
    assert asked == ["Pick[cup_0]"]
    assert outcome.code is InstructionCode.GAVE_UP
    assert outcome.text.endswith("Pick[cup_0]: the operator refused it")


def test_agents_that_a_new_memory_lacks_are_waited_for(toy_world: Make) -> None:
    around = Forgets(toy_world(), again=True)
    task = task_of(around.toy, CUP_TO_COUCH)
    assert run(Expert(task), around, task).code is InstructionCode.DONE
    assert around.toy.things["cup_0"][1] == "couch_0"


def test_agents_that_a_memory_lost_for_good_end_the_task(
    toy_world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.planning.ros_world.EFFECT_TIMEOUT_S", 0.05)
    monkeypatch.setattr("planner.planning.ros_world.AGENTS_TIMEOUT_S", 0.05)
    around = Forgets(toy_world(), again=False)
    task = task_of(around.toy, CUP_TO_COUCH)
    outcome = run(Expert(task), around, task)
    assert outcome.code is InstructionCode.PLANNER_FAULT
    assert "no longer has agent_0" in outcome.text


def test_cancelling_stops_every_agent_before_it_returns(toy_world: Make) -> None:
    around = Around(toy_world(), skill_s=60.0)
    task = task_of(
        around.toy,
        {
            "propositions": [
                prop("is_on_top", ["cup_0"], ["couch_0"]),
                prop("is_on_top", ["book_0"], ["table_0"]),
            ]
        },
    )

    async def cancel() -> Outcome:
        running = asyncio.ensure_future(Session(task, Expert(task), around.world).run())
        await asyncio.sleep(0.05)
        running.cancel()
        return await running

    outcome = asyncio.run(cancel())
    assert outcome.code is InstructionCode.CANCELED
    assert sorted(around.stopped) == ["agent_0", "agent_1"]


def test_a_world_in_lockstep_hears_of_all_calls_before_the_first_begins(toy_world: Make) -> None:
    around = Around(toy_world())
    waits = {agent: SkillCall(SkillName.WAIT) for agent in ("agent_0", "agent_1")}
    task = Task("wait", tuple(waits))
    happened: list[str] = []

    def on_turn(agent: str, is_ours: bool) -> None:
        happened.append(f"{agent} {'acts' if is_ours else 'idles'}")

    original = around.world.start

    def start(agent: str, call: SkillCall) -> None:
        happened.append(f"{agent} begins")
        original(agent, call)

    around.world.start = start  # type: ignore[method-assign]
    session = Session(task, Says(Decision(waits)), around.world, 1, on_turn=on_turn)
    asyncio.run(asyncio.wait_for(session.run(), 20))
    first = happened.index("agent_0 begins")
    assert happened[first - 2 : first + 2] == [
        "agent_0 acts",
        "agent_1 acts",
        "agent_0 begins",
        "agent_1 begins",
    ]


class Slow:
    """Thinks for ever."""

    name = "slow"

    async def decide(self, context: Context) -> Decision:
        await asyncio.sleep(60)
        return Decision()

    def observe(self, results: tuple[AgentResult, ...]) -> None: ...


def test_cancelling_interrupts_thinking(toy_world: Make) -> None:
    around = Around(toy_world())
    task = task_of(around.toy, CUP_TO_COUCH)

    async def cancel() -> Outcome:
        running = asyncio.ensure_future(Session(task, Slow(), around.world).run())
        await asyncio.sleep(0.05)
        running.cancel()
        return await running

    assert asyncio.run(cancel()).code is InstructionCode.CANCELED


class Says:
    """Makes one fixed decision."""

    name = "says"

    def __init__(self, decision: Decision | PlannerError) -> None:
        self.decision = decision

    async def decide(self, context: Context) -> Decision:
        if isinstance(self.decision, PlannerError):
            raise self.decision
        return self.decision

    def observe(self, results: tuple[AgentResult, ...]) -> None: ...


@pytest.mark.parametrize(
    ("decision", "code"),
    [
        (Decision(question="Which cup?"), InstructionCode.QUESTION),
        (Decision(failure="no way"), InstructionCode.GAVE_UP),
        (Decision(failure="spent", end=InstructionCode.CALL_LIMIT), InstructionCode.CALL_LIMIT),
        (ModelError("it is gone"), InstructionCode.MODEL_FAULT),
        (PlannerError("it broke"), InstructionCode.PLANNER_FAULT),
    ],
)
def test_every_end_has_a_code_and_words(
    toy_world: Make, decision: Decision | PlannerError, code: InstructionCode
) -> None:
    around = Around(toy_world())
    task = task_of(around.toy, CUP_TO_COUCH)
    outcome = run(Says(decision), around, task)
    assert outcome.code is code
    assert outcome.text
    assert bool(outcome.question) is (code is InstructionCode.QUESTION)


def test_free_text_that_used_up_its_cycles_says_so(toy_world: Make) -> None:
    around = Around(toy_world())
    task = Task("Please tidy up.", ("agent_0",))
    outcome = run(Says(limit_reached(50, {})), around, task)
    assert outcome.code is InstructionCode.CALL_LIMIT


def test_free_text_without_a_model_says_what_is_needed(toy_world: Make) -> None:
    around = Around(toy_world())
    task = Task("Please tidy up.", ("agent_0",))
    outcome = run(Expert(task), around, task)
    assert outcome.code is InstructionCode.NO_GOAL
    assert "model_url" in outcome.text


def test_a_limit_of_cycles_ends_the_task_and_stops_nobody_halfway(toy_world: Make) -> None:
    around = Around(toy_world())
    task = task_of(around.toy, CUP_TO_COUCH, "agent_0")
    outcome = run(Expert(task), around, task, most=2)
    assert outcome.code is InstructionCode.CALL_LIMIT
    assert [call for _, call, _ in around.toy.log] == ["Navigate[cup_0]", "Pick[cup_0]"]


def test_a_dialogue_carries_out_a_script(toy_world: Make) -> None:
    around = Around(toy_world())
    nodes = around.toy.belief().nodes.values()
    around.toy.find = {f"Object.{node.entity_id}": node.name for node in nodes}
    task = Task("Bring the cup.", ("agent_0",))
    replies = [
        "Navigate[cup_0]",
        "Pick[cup_0]",
        "Navigate[couch_0]",
        "Place[cup_0, on, couch_0, None, None]",
        "Done[]",
    ]
    outcome = run(make_react(task, ScriptedModel(replies)), around, task)
    assert outcome.code is InstructionCode.DONE
    assert around.toy.things["cup_0"][1] == "couch_0"


@pytest.mark.parametrize(
    ("call", "before", "after"),
    [
        ("Pick[cup_0]", False, True),
        ("Place[cup_0, on, couch_0, None, None]", False, True),
        ("Open[cabinet_0]", False, True),
        ("Clean[cup_0]", False, True),
        ("Navigate[cup_0]", True, True),
        ("Pick[unknown_0]", True, True),
        ("Wait[]", True, True),
    ],
)
def test_what_a_belief_shows(toy_world: Make, call: str, before: bool, after: bool) -> None:
    from planner.world.vocabulary import Relation

    toy = toy_world(states={"cup_0": {"clean": False}})
    parsed = parse_call(call)
    assert is_shown(toy.belief(), "agent_1", parsed) is before
    toy.near["agent_1"] = parsed.arguments[0] or "" if parsed.arguments else ""
    if call.startswith("Place"):
        toy.things["cup_0"] = (Relation.HELD, "agent_1")
        assert not is_shown(toy.belief(), "agent_1", parsed)
        toy.near["agent_1"] = "couch_0"
    toy.carry_out("agent_1", parsed)
    assert is_shown(toy.belief(), "agent_1", parsed) is after


class Asks:
    """Asks once, then is done; keeps what it was answered."""

    name = "asks"

    def __init__(self) -> None:
        self.heard: list[tuple[Exchange, ...]] = []

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Hears nothing."""

    async def decide(self, context: Context) -> Decision:
        self.heard.append(context.answers)
        if not context.answers:
            return Decision(question="which cup?", evidence={"asked": "1"})
        return Decision(dict.fromkeys(context.idle, SkillCall(SkillName.DONE)), "done")


@pytest.mark.parametrize("answer", ["the blue one", None])
def test_a_question_is_asked_and_the_session_continues(toy_world: Make, answer: str | None) -> None:
    around, planner = Around(toy_world()), Asks()
    questions: list[str] = []

    async def ask(question: str) -> str | None:
        questions.append(question)
        return answer

    session = Session(Task("Bring the cup.", ("agent_0",)), planner, around.world, ask=ask)
    outcome = asyncio.run(session.run())
    assert outcome.code is InstructionCode.DONE
    assert questions == ["which cup?"]
    assert planner.heard == [(), (Exchange("which cup?", answer),)]
    assert outcome.evidence["asked"] == "1"


def test_a_question_that_nobody_can_hear_ends_the_session(toy_world: Make) -> None:
    outcome = run(Asks(), Around(toy_world()), Task("Bring the cup.", ("agent_0",)))
    assert outcome.code is InstructionCode.QUESTION
    assert outcome.question == "which cup?"


class Talks:
    """Says something in its first decision, and is done in the next."""

    name = "talks"

    def __init__(self) -> None:
        self.heard: list[tuple[TeamMessage, ...]] = []

    def observe(self, results: tuple[AgentResult, ...]) -> None: ...

    async def decide(self, context: Context) -> Decision:
        self.heard.append(context.messages)
        if len(self.heard) == 1:
            said = tuple(TeamMessage.of(agent, f"I am {agent}.") for agent in context.idle)
            calls = dict.fromkeys(context.idle, SkillCall(SkillName.WAIT))
            return Decision(calls, "first", messages=said)
        return Decision(dict.fromkeys(context.idle, SkillCall(SkillName.DONE)), "done")


def test_what_agents_say_is_heard_in_the_next_decision(toy_world: Make) -> None:
    agents = ("agent_0", "agent_1")
    planner = Talks()
    outcome = run(planner, Around(toy_world()).with_talk(agents), Task("Talk.", agents))
    assert outcome.code is InstructionCode.DONE
    first, second = planner.heard[0], planner.heard[-1]
    assert first == ()
    assert second == tuple(TeamMessage(agent, f"I am {agent}.") for agent in agents)


def test_a_planner_that_talks_has_to_say_so_in_its_record(toy_world: Make) -> None:
    outcome = run(Talks(), Around(toy_world()), Task("Talk.", ("agent_0",)))
    assert outcome.code is InstructionCode.PLANNER_FAULT
    assert "has to say `talks`" in outcome.text


class HeldError(Exception):
    """For a condition that did not come true in time."""


async def until(condition: Callable[[], object]) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise HeldError


def test_what_is_held_stands_and_goes_on_where_it_was(toy_world: Make) -> None:
    around = Around(toy_world(), skill_s=0.05)
    task = task_of(around.toy, CUP_TO_COUCH)

    async def talk() -> Outcome:
        session = Session(task, Expert(task), around.world)
        work = asyncio.ensure_future(session.run())
        await until(lambda: any(str(c).startswith("Pick") for c in session.running.values()))
        doing = dict(session.running)
        session.hold()
        await session.stood()
        assert set(around.stopped) == set(doing)
        done = len(around.toy.log)
        await asyncio.sleep(0.2)
        # Nothing begins, and nothing is lost.
        assert len(around.toy.log) == done
        assert session.running == doing
        assert session.is_held
        assert not work.done()
        session.go_on()
        return await work

    outcome = asyncio.run(asyncio.wait_for(talk(), 20))
    assert outcome.code is InstructionCode.DONE
    assert around.toy.things["cup_0"][1] == "couch_0"
    assert outcome.evidence["failed_calls"] == "0"


def test_stop_and_go_on_at_once_loses_nothing(toy_world: Make) -> None:
    around = Around(toy_world(), skill_s=0.02)
    task = task_of(around.toy, CUP_TO_COUCH)

    async def talk() -> Outcome:
        session = Session(task, Expert(task), around.world)
        work = asyncio.ensure_future(session.run())
        for _ in range(10):
            await until(lambda: session.running or work.done())
            session.hold()
            session.go_on()
            await asyncio.sleep(0.03)
        return await work

    outcome = asyncio.run(asyncio.wait_for(talk(), 20))
    assert outcome.code is InstructionCode.DONE
    assert outcome.evidence["failed_calls"] == "0"


def test_what_is_decided_while_all_stand_begins_afterwards(toy_world: Make) -> None:
    around = Around(toy_world())
    task = task_of(around.toy, CUP_TO_COUCH)

    class Slow(Expert):
        async def decide(self, context: Context) -> Decision:
            await asyncio.sleep(0.05)
            return await super().decide(context)

    async def talk() -> Outcome:
        session = Session(task, Slow(task), around.world)
        work = asyncio.ensure_future(session.run())
        await asyncio.sleep(0.01)
        session.hold()
        await asyncio.sleep(0.2)
        assert not around.toy.log
        session.go_on()
        return await work

    assert asyncio.run(asyncio.wait_for(talk(), 20)).code is InstructionCode.DONE


def test_a_canceled_task_ends_although_it_is_held(toy_world: Make) -> None:
    around = Around(toy_world(), skill_s=0.05)
    task = task_of(around.toy, CUP_TO_COUCH)

    async def talk() -> Outcome:
        session = Session(task, Expert(task), around.world)
        work = asyncio.ensure_future(session.run())
        await until(lambda: session.running)
        session.hold()
        await asyncio.sleep(0.1)
        work.cancel()
        return await work

    assert asyncio.run(asyncio.wait_for(talk(), 20)).code is InstructionCode.CANCELED


def test_a_planner_that_takes_nothing_over_begins_anew_with_the_changed_task(
    toy_world: Make,
) -> None:
    around = Around(toy_world(), skill_s=0.05)
    task = task_of(around.toy, CUP_TO_COUCH)
    other = task_of(around.toy, {"propositions": [prop("is_on_top", ["apple_0"], ["couch_0"])]})

    async def talk() -> Outcome:
        session = Session(task, Expert(task), around.world)
        work = asyncio.ensure_future(session.run())
        await until(lambda: any(str(c).startswith("Pick") for c in session.running.values()))
        session.revise(other, Expert(other), halts=False)
        assert session.task is other
        return await work

    outcome = asyncio.run(asyncio.wait_for(talk(), 20))
    assert outcome.code is InstructionCode.DONE
    assert around.toy.things["apple_0"][1] == "couch_0"
    assert around.toy.things["cup_0"][1] == "table_0"
    # What was begun for the former task ended first.
    assert around.stopped
