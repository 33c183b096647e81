"""The planner `et_agent`: reads a task, searches for what it names, and brings it (ETPLAN-2.3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from papers.et_plan_bench.known import Calls, SpentError, Walk
from papers.et_plan_bench.parts import Prior, Ranker, RankerName, TaskClass
from papers.et_plan_bench.rankers import (
    RandomRanker,
    TableRanker,
    learned_ranker,
    read_frequencies,
    shipped_frequencies_file,
    shipped_weights,
)
from papers.et_plan_bench.search import Search, full_plan
from planner.parts.calls import parse_call
from planner.planning.errands import Errand, Sought, Where
from planner.planning.part import PlannerRequest
from planner.planning.planner import AgentResult, Context, Decision, Task, Terms
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall, SkillCode, SkillName
from planner.world.topics import InstructionCode
from planner.world.vocabulary import Relation

# In which order two things are brought to one place: the shortest walk that is possible.


class Order(StrEnum):
    """The orders that are compared (ETPLAN-2.3).

    ONE_ARM: one thing after the other. TWO_ARMS: both are fetched, then both are put; PUT_DOWN:
    the same, and one is put down before the place is opened; OPEN_FIRST: the same, and the place
    is opened before both hands are full.
    """

    ONE_ARM = "one_arm"
    TWO_ARMS = "two_arms"
    PUT_DOWN = "put_down"
    OPEN_FIRST = "open_first"


def shortest(walks_m: Mapping[Order, float | None]) -> Order:
    """The order with the shortest walk; None is one that is not possible.

    Raises:
        PlannerError: if none is possible.
    """
    possible = [(length_m, order) for order, length_m in walks_m.items() if length_m is not None]
    if not possible:
        raise PlannerError("two things: no order is possible")
    return min(possible, key=lambda one: one[0])[1]


def order_of(plan: Sequence[str]) -> Order:
    """The order of a plan that brings two things to one place."""
    verbs = [call.partition("[")[0] for call in plan]
    picks = [index for index, verb in enumerate(verbs) if verb == SkillName.PICK]
    if len(picks) > 2:
        return Order.PUT_DOWN
    if SkillName.PLACE in verbs[picks[0] : picks[-1]]:
        return Order.ONE_ARM
    place = plan[-1].split(", ")[2]
    return Order.OPEN_FIRST if f"{SkillName.OPEN}[{place}]" in plan else Order.TWO_ARMS


# Bringing things to places (ETPLAN-2.3): one thing, two with one hand or two, one in another.


@dataclass
class Carrying:
    """Carries the parts of one task out.

    Attributes:
        walk: whose knowledge it uses.
        failure: why the task ended without success, in words; "" = it did not.
        order: how two things were brought; None = it was not two.
        by_map: as in `AgentOptions`.
    """

    walk: Walk
    failure: str = ""
    order: Order | None = None
    by_map: bool = False
    _brought: list[str] = field(default_factory=list)
    _last_place: str | None = None
    _shared: str | None = None

    async def run(self, errands: Sequence[Errand], *, jointly: bool, two_arms: bool) -> Calls:
        """Does one part after another, or two at once.

        Args:
            errands: the parts.
            jointly: whether they bring things to one place.
            two_arms: whether two things may be carried at a time.
        """
        if self.walk.prior is Prior.G:
            arms = 2 if two_arms and len(self.walk.known.hands) > 1 else 1
            as_known: Prior = Prior.FP if self.by_map else Prior.G
            plan = full_plan(self.walk, errands, jointly=jointly, arms=arms, prior=as_known)
            if plan is not None:
                async for call in self._as_planned(plan.plan, errands, jointly=jointly):
                    yield call
                return
        if jointly and len(errands) == 2:
            if two_arms and len(self.walk.known.hands) > 1:
                async for call in self._both(*errands):
                    yield call
                return
            self.order = Order.ONE_ARM
        for errand in errands:
            async for call in self._one(errand, jointly=jointly):
                yield call
            if self.failure:
                return

    async def _as_planned(
        self, plan: Sequence[str], errands: Sequence[Errand], *, jointly: bool
    ) -> Calls:
        """A plan call by call; what is in a hand when there is no room is brought elsewhere."""
        if jointly:
            self.order = order_of(plan)
        for text in plan:
            call = parse_call(text)
            if call.name == SkillName.OPEN and not self.walk.known.is_closed(
                str(call.arguments[0])
            ):
                continue
            if call.name == SkillName.PLACE and jointly and self._is_far_from_first():
                # Beside the first thing: at the end the agent is close to both (ETPLAN-4.3).
                yield self.walk.act(SkillName.NAVIGATE, self._brought[-1])
            yield self.walk.act(call.name, *call.arguments)
            if not self.walk.has_succeeded():
                held = [name for name in self.walk.known.hands if name is not None]
                self._fail(f"{text} did not succeed")
                if held and call.name == SkillName.PLACE:
                    async for other in self._to_place(held, errands[-1]):
                        yield other
                return
            if call.name == SkillName.PLACE:
                self._brought.append(str(call.arguments[0]))

    def _is_far_from_first(self) -> bool:
        return bool(self._brought) and not self.walk.known.is_close(self._brought[-1])

    async def _one(self, errand: Errand, *, jointly: bool) -> Calls:
        """Algorithm 3; without a place only its first half.

        `jointly`: whether all things go to one place, the one that the first was put at.
        """
        search = Search(self.walk, errand.target, tuple(self._brought))
        async for call in search.run():
            yield call
        thing = search.found
        if thing is None:
            self.failure = f"{errand.target} was not found"
            return
        if errand.place is None:
            return
        place = self._shared or self._known_place(errand.place, thing)
        if place is not None and self._must_open_first(place, thing):
            async for call in self._open_first(place, thing):
                yield call
            if self.failure:
                return
        yield self.walk.act(SkillName.PICK, thing)
        if not self.walk.has_succeeded():
            self._fail(f"{thing} could not be picked up")
            return
        if self._shared is not None:
            async for call in self._again(thing, self._shared, errand):
                yield call
            return
        async for call in self._to_place([thing], errand):
            yield call
        if jointly:
            self._shared = self._last_place

    async def _again(self, thing: str, place: str, errand: Errand) -> Calls:
        """To the place where the other thing was put: "a table" for both is one table."""
        room = self.walk.known.room_of(place)
        if self.walk.prior is Prior.G and room not in (None, self.walk.known.room):
            # Who has the true plan walks by its rooms (ETPLAN-C39).
            yield self.walk.act(SkillName.NAVIGATE, room)
        yield self.walk.act(SkillName.NAVIGATE, place)
        if not self.walk.has_succeeded():
            self._fail(f"{place} cannot be reached")
            return
        first = self._brought[-1]
        if not self.walk.known.is_close(first):
            # Beside the first thing: at the end the agent is close to both (ETPLAN-4.3).
            yield self.walk.act(SkillName.NAVIGATE, first)
        async for call in self._put([thing], place, errand.where):
            yield call

    async def _both(self, first: Errand, second: Errand) -> Calls:
        """With two hands: both are fetched, then both are put."""
        walk, things = self.walk, list[str]()
        for errand in (first, second):
            search = Search(walk, errand.target, (*self._brought, *things))
            async for call in search.run():
                yield call
            if search.found is None:
                self.failure = f"{errand.target} was not found"
                return
            if things and errand.place is not None:
                place = self._known_place(errand.place, *things)
                self.order = self._order(place, search.found)
                if place is not None and self.order is Order.OPEN_FIRST:
                    async for call in self._open_first(place, search.found):
                        yield call
                    if self.failure:
                        return
            yield walk.act(SkillName.PICK, search.found)
            if not walk.has_succeeded():
                self._fail(f"{search.found} could not be picked up")
                return
            things.append(search.found)
        async for call in self._to_place(things, second):
            yield call

    def _order(self, place: str | None, second: str) -> Order:
        """The shorter way of putting both into what is closed, from beside the second thing."""
        known = self.walk.known
        if place is None or not known.is_closed(place):
            return Order.TWO_ARMS
        there_m = known.apart_m(place, second)
        return shortest(
            {
                # The hands are full when the place is reached: one thing is put down before it.
                Order.PUT_DOWN: there_m if known.floor_here() is not None else None,
                Order.OPEN_FIRST: 3 * there_m,
            }
        )

    # The place

    def _known_place(self, sought: Sought, *things: str) -> str | None:
        names = self.walk.known.fitting(sought)
        return next((name for name in names if name not in things), None)

    def _must_open_first(self, place: str, thing: str) -> bool:
        """Whether the only hand would be full before what is closed."""
        known = self.walk.known
        return known.is_closed(place) and known.hands.count(None) == 1 and thing != place

    async def _open_first(self, place: str, thing: str) -> Calls:
        walk = self.walk
        for skill, name, done in (
            (SkillName.NAVIGATE, place, "reached"),
            (SkillName.OPEN, place, "opened"),
            (SkillName.NAVIGATE, thing, "reached"),
        ):
            yield walk.act(skill, name)
            if not walk.has_succeeded():
                self._fail(f"{name} cannot be {done}")
                return

    async def _to_place(self, things: Sequence[str], errand: Errand) -> Calls:
        """Walks to the place, at once if it is remembered, else after a search; puts all there."""
        if errand.place is None:
            return
        full: list[str] = []
        while True:
            search = Search(self.walk, errand.place, (*things, *full))
            async for call in search.run():
                yield call
            if search.found is None:
                self.failure = self.failure or f"{errand.place} was not found"
                return
            self.failure, self._last_place = "", search.found
            before = len(self._brought)
            async for call in self._put(things, search.found, errand.where):
                yield call
            if not self._had_no_room() or len(self._brought) > before:
                return
            # "A table" may be another one.
            full.append(search.found)

    def _had_no_room(self) -> bool:
        """Whether putting something failed because there was no room for it."""
        last = self.walk.last
        no_room = last is not None and last.result.code is SkillCode.NO_PLACEMENT
        return bool(self.failure) and no_room

    async def _put(self, things: Sequence[str], place: str, where: Where | None) -> Calls:
        walk = self.walk
        aside: str | None = None
        relation = walk.known.takes(place, where)
        # What has a door or drawers may be closed while things are put on top of it.
        if relation is Relation.WITHIN and walk.known.is_closed(place):
            floor = walk.known.floor_here()
            if None not in walk.known.hands and floor is not None:
                # Opening needs a hand (ETPLAN-3.1).
                aside = things[0]
                async for call in walk.put(aside, Relation.ON, floor):
                    yield call
                if not walk.has_succeeded():
                    self._fail(f"{aside} could not be put down")
                    return
            yield walk.act(SkillName.OPEN, place)
            if not walk.has_succeeded():
                self._fail(f"{place} cannot be opened")
                return
        for thing in sorted(things, key=lambda each: each == aside):
            if thing == aside:
                yield walk.act(SkillName.PICK, thing)
                if not walk.has_succeeded():
                    self._fail(f"{thing} could not be picked up again")
                    return
            async for call in walk.put(thing, relation, place):
                yield call
            if not walk.has_succeeded():
                self._fail(f"{thing} could not be put at {place}")
                return
            self._brought.append(thing)

    def _fail(self, what: str) -> None:
        last = self.walk.last
        self.failure = what if last is None else f"{what}: {last.result.text}"


# M by what is asked (ETPLAN-1.4).
MAX_FINDING, MAX_BRINGING, MAX_SEVERAL = 20, 40, 60


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """The options of the planner.

    Attributes:
        prior: what is known from the start.
        max_actions: M; 0 = by the class of the task.
        two_arms: whether two hands are used for two things.
        by_map: whether who knows everything walks to furniture without its room first, as the true
            plans of tasks with a layout map do.
    """

    prior: Prior = Prior.P
    max_actions: int = 0
    two_arms: bool = True
    by_map: bool = False


class EtAgent:
    """A `Planner` whose first agent does everything; it never reads the structured goal."""

    name = "et_agent"

    def __init__(self, task: Task, ranker: Ranker, options: AgentOptions | None = None) -> None:
        """One task; the ranker answers the questions of its search."""
        self._text, self._agents = task.instruction, task.agents
        self._ranker, self._options = ranker, options or AgentOptions()
        self._walk: Walk | None = None
        self._carrying: Carrying | None = None
        self._class: TaskClass | None = None
        self._script: AsyncGenerator[SkillCall, None] | None = None

    async def decide(self, context: Context) -> Decision:
        """The next call of the first agent; the others are done at once.

        Raises:
            ModelError: if a model is asked and does not reply.
        """
        actor = self._agents[0]
        calls = {agent: _DONE for agent in context.idle if agent != actor}
        if actor not in context.idle:
            return Decision(calls)
        if self._walk is None or self._script is None:
            self._walk = Walk(actor, self._ranker, self._options.prior, 0, context)
            self._script = self._calls(self._walk)
        self._walk.renew(context)
        try:
            call = await anext(self._script)
        except StopAsyncIteration:
            return self._ended(calls, actor)
        except SpentError as error:
            return self._failed(str(error))
        return Decision({**calls, actor: call}, evidence=self._evidence())

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Takes up how the actor's call ended."""
        for result in results:
            if self._walk is not None and result.agent == self._walk.agent:
                self._walk.note(result)

    async def _calls(self, walk: Walk) -> AsyncGenerator[SkillCall, None]:
        task_class = self._class = await self._ranker.classify(self._text)
        errands = await self._ranker.decompose(self._text, task_class)
        walk.max_actions = self._options.max_actions or most_actions(errands)
        self._carrying = Carrying(walk, by_map=self._options.by_map)
        if not errands:
            return
        run = self._carrying.run(
            errands, jointly=task_class is TaskClass.PLACE_TWO, two_arms=self._options.two_arms
        )
        async for call in run:
            yield call

    def _ended(self, calls: dict[str, SkillCall], actor: str) -> Decision:
        carrying = self._carrying
        if carrying is None or carrying.walk.max_actions == 0:
            return self._failed("the task was not understood", InstructionCode.NO_GOAL)
        if carrying.failure:
            return self._failed(carrying.failure)
        return Decision({**calls, actor: _DONE}, "done", evidence=self._evidence())

    def _failed(self, why: str, code: InstructionCode = InstructionCode.GAVE_UP) -> Decision:
        return Decision(failure=why, end=code, evidence=self._evidence())

    def _evidence(self) -> dict[str, str]:
        walk = self._walk
        if walk is None:
            return {}
        order = self._carrying.order if self._carrying is not None else None
        return {
            "ranker": self._ranker.name.value,
            "ranker_source": self._ranker.evidence,
            "prior": self._options.prior.value,
            "task_class": "" if self._class is None else self._class.value,
            "actions": str(walk.actions),
            "asked": ", ".join(f"{what} {count}" for what, count in sorted(walk.asked.items())),
            **({} if order is None else {"order": order.value}),
        }


_DONE = SkillCall(SkillName.DONE, ())


def most_actions(errands: tuple[Errand, ...]) -> int:
    """M for a task of these parts; 0 for none (ETPLAN-1.4)."""
    moved = sum(errand.place is not None for errand in errands)
    if not errands:
        return 0
    return (MAX_FINDING, MAX_BRINGING)[moved] if moved < 2 else MAX_SEVERAL


# Makes `et_agent` and its ranker by the options of a request.


def make_et_agent(request: PlannerRequest) -> EtAgent:
    """The planner for one task.

    Raises:
        PlannerError: if its ranker needs a model, or a file that is not there.
    """
    terms = request.task.terms or Terms(arms=2)
    options = AgentOptions(
        prior=Prior(request.text("prior") or terms.prior),
        max_actions=request.whole("max_actions") or terms.max_actions or 0,
        two_arms=request.flag("two_arms") and terms.arms > 1,
        by_map=terms.prior == Prior.FP,
    )
    return EtAgent(request.task, ranker_of(request), options)


def ranker_of(request: PlannerRequest) -> Ranker:
    """The ranker that the options choose.

    Raises:
        PlannerError: if it needs a model, or a file that is not there.
    """
    name, file = RankerName(request.text("ranker")), request.text("ranker_file")
    if name is RankerName.AUTO:
        name = _usual(request, file)
    if name is RankerName.MODEL:
        from papers.et_plan_bench.model_ranker import model_ranker

        usual = TableRanker(read_frequencies(shipped_frequencies_file()))
        return model_ranker(
            request, usual, thinks=request.flag("think_first"), few_shot=request.flag("few_shot")
        )
    if name is RankerName.LEARNED:
        return learned_ranker(Path(file) if file else shipped_weights())
    if name is RankerName.RANDOM:
        return RandomRanker(request.task.seed)
    return TableRanker(read_frequencies(Path(file) if file else shipped_frequencies_file()))


def _usual(request: PlannerRequest, file: str) -> RankerName:
    if request.language_model is not None:
        return RankerName.MODEL
    weights = Path(file) if file else shipped_weights()
    is_learned = weights.suffix == shipped_weights().suffix and weights.is_file()
    return RankerName.LEARNED if is_learned else RankerName.TABLE
