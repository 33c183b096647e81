"""Takes the orders of pages, checks who may give them and passes them on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.console import protocol
from planner.console.lobby import Lobby
from planner.console.orders import Done, Orders
from planner.console.protocol import Order
from planner.console.seats import GRACE_S, OPERATOR, Seats
from planner.console.session_record import SessionRecord
from planner.console.table import Json
from planner.console.tries import Tries, Try
from planner.console.view import View


@dataclass(eq=False, slots=True)
class Visitor:
    """One page.

    Attributes:
        session: chosen by the page.
        may_order: whether it may give orders at all.
        name: of the person; "" = none given.
        shows_pictures: whether it shows camera pictures.
    """

    session: str
    may_order: bool
    name: str = ""
    shows_pictures: bool = False

    @property
    def who(self) -> str:
        """For the record and the log."""
        return f"{self.name or 'page'} {self.session[:6]}"


@dataclass(slots=True)
class Desk:
    """All pages of a running stack; used by one thread.

    Attributes:
        view: state of the page.
        orders: the robots.
        record: of who did what.
        now_s: steady clock, seconds.
        expire: called with the seconds after which `expire_seats` shall be called.
    """

    view: View
    orders: Orders
    record: SessionRecord
    now_s: Callable[[], float]
    expire: Callable[[float], None] = lambda _: None
    _seats: Seats = field(default_factory=Seats)
    _visitors: list[Visitor] = field(default_factory=list)
    # What each driven agent was last asked for; only changes are recorded.
    _driven: dict[str, tuple[float, float]] = field(default_factory=dict)
    # Driven agents that somebody stopped; they drive again after the keys were let go.
    _halted: set[str] = field(default_factory=set)
    _tries: Tries = field(default_factory=Tries)
    _lobby: Lobby = field(default_factory=Lobby)
    # By session: whether its person agreed that what they do trains planners.
    _consents: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Hears what the judge says of the running try."""
        self.view.on_judgement = self._judged

    def come(self, visitor: Visitor) -> None:
        """A page has opened; the first one that may give orders gets the operator's seat."""
        self._visitors.append(visitor)
        self._seats.came(visitor.session)
        if visitor.may_order and not self._seats.holder(OPERATOR, self.now_s()):
            self._seats.take(OPERATOR, visitor.session, self.now_s())
        self._show_seats()

    def go(self, visitor: Visitor) -> None:
        """A page was closed or lost: what its partner does ends, its seats stay for a moment."""
        self._visitors.remove(visitor)
        self.pictures_wanted(visitor, on=False)
        if any(other.session == visitor.session for other in self._visitors):
            return
        self._lobby.leave(visitor.session)
        for seat in self._seats.went(visitor.session, self.now_s()):
            if seat != OPERATOR:
                self.orders.abort(seat)
                self._driven.pop(seat, None)
                self._note(visitor, seat, "page lost", None)
        self._show_seats()
        self.expire(GRACE_S + 0.1)

    def expire_seats(self) -> None:
        """Shows which seats have become free."""
        self._show_seats()

    def pictures_wanted(self, visitor: Visitor, *, on: bool) -> None:
        """A page shows pictures or no longer does."""
        visitor.shows_pictures = on
        shown = any(each.shows_pictures for each in self._visitors)
        self.orders.show_pictures(self.view.agents if shown else ())

    def give(self, visitor: Visitor, order: Order, done: Done) -> None:
        """Carries out an order, or refuses it in one sentence through `done`."""
        seat = self._seat_of(order)
        refusal = self._refusal(visitor, order, seat)
        if refusal:
            self._note(visitor, seat, order.type, order, refused=refusal)
            done(False, refusal)
            return
        if isinstance(order, protocol.Drive):
            self._drive(visitor, order, done)
            return
        self._begin_try(visitor, order)
        if not isinstance(order, protocol.Stop):
            # A stop waits for no disk.
            self._note(visitor, seat, order.type, order)

        doing = f"{seat}/doing"
        if isinstance(order, protocol.Skill):
            self.view.table.set("agents", doing, order.call)

        def ended(good: bool, text: str) -> None:
            if isinstance(order, protocol.Skill):
                self.view.table.drop("agents", doing)
            self._note(visitor, seat, f"{order.type} ended", None, good=good, text=text)
            self.view.say(visitor.who, f"{_named(order)}: {text}", good=good)
            done(good, text)

        self._pass_on(visitor, order, ended)

    def _begin_try(self, visitor: Visitor, order: Order) -> None:
        """An instruction is a try; an answer that continues a dialogue is of the same one."""
        if isinstance(order, protocol.Again):
            words = self._tries.task
        elif isinstance(order, protocol.Instruct) and not order.dialogue:
            words = order.words
        else:
            return
        self._begin(visitor, words)

    def _begin(self, visitor: Visitor, words: str) -> None:
        if (given_up := self._tries.give_up()) is not None:
            # One that was stopped or canceled has no verdict.
            self._note_end(given_up)
        self._tries.begin(words, visitor.who)
        self._show_tries()

    def _drive(self, visitor: Visitor, order: protocol.Drive, done: Done) -> None:
        """A wish that is repeated several times a second: only what is new is worth a line."""
        wish = (order.forward, order.turn)
        if order.agent in self._halted:
            if any(wish):
                done(False, f"{order.agent} was stopped: let go of the keys first")
                return
            self._halted.discard(order.agent)
        if self._driven.get(order.agent, (0.0, 0.0)) != wish:
            self._driven[order.agent] = wish
            self._note(visitor, order.agent, order.type, order)

        def ended(good: bool, text: str) -> None:
            if not good:
                self._driven.pop(order.agent, None)
                self._note(visitor, order.agent, "drive ended", None, good=good, text=text)
                self.view.say(visitor.who, f"{_named(order)}: {text}", good=False)
            done(good, text)

        self.orders.drive(order.agent, self._body_of(order.agent), *wish, ended)

    def _body_of(self, agent: str) -> str:
        world = self.view.table.get("world", "info")
        bodies = world["bodies"] if isinstance(world, dict) else ()
        named = dict(zip(self.view.agents, bodies, strict=False))
        return str(named.get(agent, ""))

    def _note(
        self, visitor: Visitor, seat: str, what: str, order: Order | None, **more: object
    ) -> None:
        if number := self._tries.number():
            more["try"] = number
        if order is not None:
            more["order"] = order.model_dump(exclude={"type", "order"})
        problem = self.record.write(visitor.who, seat, what, **more)
        if problem:
            self.view.say("console", problem, good=False)

    def _seat_of(self, order: Order) -> str:
        if isinstance(order, protocol.Skill | protocol.Abort | protocol.Drive):
            return order.agent
        of_all = protocol.Stop | protocol.Take | protocol.Leave | protocol.Join | protocol.Consent
        return "" if isinstance(order, of_all) else OPERATOR

    def _refusal(self, visitor: Visitor, order: Order, seat: str) -> str:
        if isinstance(order, protocol.Stop):
            # Every page may: nobody has to look for the right one.
            return ""
        if not visitor.may_order:
            return "this page may only look"
        if isinstance(order, protocol.Take):
            return self._refusal_of_seat(visitor, order.seat)
        if isinstance(order, protocol.Join):
            return self._refusal_of_lobby(visitor) if order.on else ""
        if isinstance(order, protocol.Leave):
            mine = self._seats.holder(order.seat, self.now_s()) == visitor.session
            return "" if mine else f"this page is not {order.seat}"
        if seat and self._seats.holder(seat, self.now_s()) != visitor.session:
            role = "in control" if seat == OPERATOR else f"the partner {seat}"
            return f"this page is not {role}"
        if isinstance(order, protocol.Drive) and not self._may_drive(visitor):
            return "a robot is driven only by the page that is also in control"
        if isinstance(order, protocol.Again):
            if self.view.is_running:
                return "the instruction is running; end it first"
            if refusal := self._tries.refusal():
                return refusal
        # Without any agent yet, an instruction is for all that come.
        has_agents = bool(self.view.agents)
        asks = isinstance(order, protocol.Instruct)
        if asks and has_agents and not self._free_agents():
            return "all agents are persons; one has to leave its seat first"
        return ""

    def _refusal_of_seat(self, visitor: Visitor, seat: str) -> str:
        holder = self._seats.holder(seat, self.now_s())
        if holder not in ("", visitor.session):
            role = "is in control" if seat == OPERATOR else f"is {seat}"
            return f"another page {role} already"
        if seat == OPERATOR:
            return ""
        if seat not in self.view.agents:
            known = ", ".join(self.view.agents) or "none"
            return f"there is no agent {seat}; there are: {known}"
        if len(self.view.agents) < 2:
            return f"{seat} is the only agent; a partner needs a second one"
        now = self.view.table.get("instruct", "now")
        if isinstance(now, dict) and self.view.is_running and seat in now["agents"]:
            return f"{seat} follows the instruction that is running; end that first"
        return ""

    def _refusal_of_lobby(self, visitor: Visitor) -> str:
        """Two persons need the first two agents, and neither is one already."""
        first_two = self.view.agents[:2]
        for seat in first_two:
            if self._seats.holder(seat, self.now_s()) == visitor.session:
                return f"this page is {seat} already"
        refusals = (self._refusal_of_seat(visitor, seat) for seat in first_two)
        none = "" if first_two else "there are no agents yet"
        return none or next((refusal for refusal in refusals if refusal), "")

    def _may_drive(self, visitor: Visitor) -> bool:
        """In simulators every partner; elsewhere the operator, whom the gate asks as well."""
        world = self.view.table.get("world", "info")
        simulated = isinstance(world, dict) and world["simulated"] is True
        return simulated or self._seats.holder(OPERATOR, self.now_s()) == visitor.session

    def _free_agents(self) -> tuple[str, ...]:
        taken = self._seats.all(self.now_s())
        return tuple(agent for agent in self.view.agents if agent not in taken)

    def _instructed(self) -> tuple[str, ...]:
        """Whom an instruction is for; none named = all, also those that come later."""
        free = self._free_agents()
        return () if free == self.view.agents else free

    def _judged(self, found: Mapping[str, Json]) -> None:
        percent, state = found["percent"], str(found["state"])
        ended = self._tries.judged(percent if isinstance(percent, float) else None, state)
        self._show_tries()
        if ended is not None:
            self._note_end(ended)

    def _note_end(self, ended: Try) -> None:
        found = {"try": ended.number, "percent": ended.percent, "state": ended.state}
        best, task, who = self._tries.best(), self._tries.task, self._tries.who
        problem = self.record.write(who, OPERATOR, "try ended", **found, best=best, task=task)
        if problem:
            self.view.say("console", problem, good=False)

    def _show_tries(self) -> None:
        if self._tries.task:
            self.view.table.set("tries", "now", self._tries.as_json())

    def _pass_on(self, visitor: Visitor, order: Order, done: Done) -> None:
        match order:
            case protocol.Take():
                self._seats.take(order.seat, visitor.session, self.now_s())
                self._show_seats()
                done(True, "taken")
            case protocol.Leave():
                if order.seat != OPERATOR:
                    self.orders.abort(order.seat)
                    self._driven.pop(order.seat, None)
                self._seats.leave(order.seat, visitor.session)
                self._show_seats()
                done(True, "left")
            case protocol.Join():
                self._join(visitor, done) if order.on else self._wait_no_longer(visitor, done)
            case protocol.Instruct():
                self.orders.instruct(order.words, self._instructed(), order.dialogue, done)
            case protocol.Again():
                # Two persons do the task by themselves: nobody is told anything.
                words = self._tries.task if self._free_agents() or not self.view.agents else ""
                self.orders.again(words, self._instructed(), done)
            case protocol.Answer():
                self.orders.answer(order.words, done)
            case protocol.Cancel():
                self.orders.cancel(done)
            case protocol.Stop():
                self._halted |= {agent for agent, wish in self._driven.items() if any(wish)}
                self._driven.clear()
                self.orders.stop(self.view.agents, done)
            case protocol.Skill():
                self.orders.skill(order.agent, order.call, done)
            case protocol.Abort():
                self.orders.abort(order.agent)
                done(True, "ends")
            case protocol.Drive():
                raise AssertionError("drives are passed on by themselves")
            case protocol.Approve():
                self.orders.approve(order.agent, order.question, order.answer, done)
            case protocol.Correct():
                self.orders.correct(order, visitor.who, done)
            case protocol.Consent():
                self._consents[visitor.session] = order.yes
                self._show_seats()
                done(True, "noted: may be used" if order.yes else "noted: may not be used")

    def _join(self, visitor: Visitor, done: Done) -> None:
        pair = self._lobby.join(visitor.session)
        if pair is None:
            self._show_seats()
            done(True, "waits for a second person")
            return
        for seat, session in zip(self.view.agents, pair, strict=False):
            self._seats.take(seat, session, self.now_s())
            who = next(each for each in self._visitors if each.session == session)
            self._note(who, seat, "paired", None)
            self.view.say(who.who, f"is {seat}")
        self._show_seats()
        world = self.view.table.get("world", "info")
        if isinstance(world, dict) and world["task"]:
            self._begin(visitor, str(world["task"]))
        done(True, f"you are {self.view.agents[1]}")

    def _wait_no_longer(self, visitor: Visitor, done: Done) -> None:
        self._lobby.leave(visitor.session)
        self._show_seats()
        done(True, "waits no longer")

    def _show_seats(self) -> None:
        held = self._seats.all(self.now_s())
        shown: dict[str, Json] = {}
        for seat, session in held.items():
            names = (v.name for v in self._visitors if v.session == session)
            shown[seat] = {"session": session[:6], "name": next(names, "")}
        self.view.table.set("seats", "now", shown)
        lobby = [session[:6] for session in self._lobby.waiting]
        self.view.table.set("seats", "lobby", lobby)
        agreed = {session[:6]: yes for session, yes in self._consents.items()}
        self.view.table.set("seats", "consents", agreed)
        looking = len({visitor.session for visitor in self._visitors})
        self.view.table.set("seats", "pages", looking)


def _named(order: Order) -> str:
    match order:
        case protocol.Skill():
            return f"{order.agent} {order.call}"
        case protocol.Drive():
            return f"{order.agent} driven by keys"
        case protocol.Instruct() | protocol.Answer():
            return f"{order.type} “{order.words}”"
        case protocol.Take() | protocol.Leave():
            return f"{order.type} {order.seat}"
        case protocol.Correct():
            return f"memory: {order.change} {order.entity or ''} {order.words}".strip()
        case protocol.Approve():
            return f"{order.agent}: {order.answer}"
        case protocol.Join():
            return "lobby"
        case protocol.Consent():
            return "use for training"
        case _:
            return order.type
