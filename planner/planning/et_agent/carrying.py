"""Bringing things to places (ETPLAN-2.3): one thing, two with one hand or two, one in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.parts.calls import parse_call
from planner.planning.et_agent.errand import Errand, Sought, Where
from planner.planning.et_agent.full_plan import full_plan
from planner.planning.et_agent.orders import Order, order_of, shortest
from planner.planning.et_agent.prior import Prior
from planner.planning.et_agent.search import Search
from planner.planning.et_agent.walk import Calls, Walk
from planner.world.skill import SkillCode, SkillName
from planner.world.vocabulary import Relation


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
        yield walk.act(SkillName.NAVIGATE, place)
        if not walk.has_succeeded():
            self._fail(f"{place} cannot be reached")
            return
        yield walk.act(SkillName.OPEN, place)
        if not walk.has_succeeded():
            self._fail(f"{place} cannot be opened")
            return
        yield walk.act(SkillName.NAVIGATE, thing)
        if not walk.has_succeeded():
            self._fail(f"{thing} cannot be reached")

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
