"""Pages, their seats and tries at a task, and which page may give which order now."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from planner.console import protocol
from planner.console.facts import Json
from planner.console.protocol import Order
from planner.console.view import View

# One page of the console.


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


# Who controls the robots and who is which partner: one page for each.

OPERATOR = "operator"
# Wall seconds for which a page that is loaded again finds its seat free.
GRACE_S = 10.0


@dataclass(slots=True)
class _Held:
    """A seat; `left_s` is when the last page of its session went away, None while there is one."""

    session: str
    left_s: float | None = None


class Seats:
    """Seats by name; each is held by one session."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def holder(self, seat: str, now_s: float) -> str:
        """The session that has it; "" if it is free."""
        held = self._held.get(seat)
        if held is None:
            return ""
        if held.left_s is not None and now_s - held.left_s > GRACE_S:
            del self._held[seat]
            return ""
        return held.session

    def take(self, seat: str, session: str, now_s: float) -> bool:
        """Whether the session has it now."""
        if self.holder(seat, now_s) not in ("", session):
            return False
        self._held[seat] = _Held(session)
        return True

    def leave(self, seat: str, session: str) -> None:
        """Gives it back, where the session has it."""
        held = self._held.get(seat)
        if held is not None and held.session == session:
            del self._held[seat]

    def session_joined(self, session: str) -> None:
        """A page of the session is there (again)."""
        for held in self._held.values():
            if held.session == session:
                held.left_s = None

    def session_left(self, session: str, now_s: float) -> tuple[str, ...]:
        """The session's last page has gone; returns the seats that it still holds for a while."""
        mine = [(seat, held) for seat, held in self._held.items() if held.session == session]
        for _, held in mine:
            held.left_s = now_s
        return tuple(seat for seat, _ in mine)

    def all(self, now_s: float) -> dict[str, str]:
        """The session of each seat that is not free."""
        found = {seat: self.holder(seat, now_s) for seat in [*self._held]}
        return {seat: session for seat, session in found.items() if session}


# The tries at one task: up to three until one succeeds; the best counts (PARTNR-10).

# PARTNR-10: each task has up to three tries.
MAX_TRIES = 3


@dataclass(slots=True)
class Try:
    """One try.

    Attributes:
        number: 1 = the first.
        percent: share of the task that was done, 0 to 1; None = nobody judged it.
        state: `running`, `succeeded` or `failed`, as the judge says.
    """

    number: int
    percent: float | None = None
    state: str = "running"
    # The judge repeats its last verdict until it judges anew; that one is not of this try.
    is_judged: bool = False

    def as_json(self) -> dict[str, Json]:
        """For the page and the record."""
        return {"number": self.number, "percent": self.percent, "state": self.state}


@dataclass(slots=True)
class Tries:
    """The tries at the task that was begun last; its methods may be called from any thread.

    Attributes:
        task: its words; "" = none was begun.
        who: began the newest try, for the record.
        together: whether persons do the newest try by themselves, so that no planner ends it.
    """

    task: str = ""
    who: str = ""
    together: bool = False
    _tries: list[Try] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(
        self, task: str, who: str = "", *, together: bool = False, first: bool = False
    ) -> int:
        """A try at a task begins, or the `first` one anew; returns its number."""
        with self._lock:
            self.who, self.together = who, together
            if first or task != self.task:
                self.task, self._tries = task, []
            self._tries.append(Try(len(self._tries) + 1))
            return len(self._tries)

    def judged(self, percent: float | None, state: str) -> Try | None:
        """What the judge says of the running try; returns the try if that ends it."""
        with self._lock:
            if not self._tries or self._tries[-1].state != "running":
                return None
            now = self._tries[-1]
            now.is_judged |= state == "running"
            if not now.is_judged:
                return None
            now.percent, now.state = percent, state
            return now if state != "running" else None

    def expect_verdict(self) -> None:
        """The judge was asked for its verdict: the next one is of the running try."""
        with self._lock:
            if self._tries:
                self._tries[-1].is_judged = True

    def give_up(self) -> Try | None:
        """The running try ends as it is, without a verdict; None if there is none."""
        with self._lock:
            if not self._tries or self._tries[-1].state != "running":
                return None
            self._tries[-1].state = "failed"
            return self._tries[-1]

    def running(self) -> Try | None:
        """The running try; None if there is none."""
        with self._lock:
            last = self._tries[-1] if self._tries else None
            return last if last is not None and last.state == "running" else None

    def is_open(self) -> bool:
        """Whether persons do a try by themselves now."""
        with self._lock:
            return self.together and bool(self._tries) and self._tries[-1].state == "running"

    def best(self) -> int:
        """The number of the successful try, else of the one with most done; 0 = none was begun."""
        with self._lock:
            ranked = [(each.state == "succeeded", each.percent or 0.0) for each in self._tries]
            return ranked.index(max(ranked)) + 1 if ranked else 0

    def refusal(self) -> str:
        """Why the task is not offered again; "" = it is."""
        with self._lock:
            if not self._tries:
                return "no task was begun at this console"
            if any(each.state == "succeeded" for each in self._tries):
                return "the task has succeeded"
            if len(self._tries) >= MAX_TRIES:
                return f"the task had its {MAX_TRIES} tries"
            return ""

    def number(self) -> int:
        """Of the running or last try; 0 = none was begun."""
        with self._lock:
            return len(self._tries)

    def as_json(self) -> dict[str, Json]:
        """All of them, for the page."""
        best, refusal = self.best(), self.refusal()
        with self._lock:
            return {
                "task": self.task,
                "most": MAX_TRIES,
                "best": best,
                "again": refusal,
                "together": self.together,
                "tries": [each.as_json() for each in self._tries],
            }


@dataclass(frozen=True, slots=True)
class Rights:
    """Decides by what the page shows, by the seats and by the tries.

    Attributes:
        view: state of the page.
        seats: who has which.
        tries: at the task.
        now_s: steady clock, seconds.
    """

    view: View
    seats: Seats
    tries: Tries
    now_s: Callable[[], float]

    def seat_of(self, order: Order) -> str:
        """The seat that an order needs; "" = none."""
        if isinstance(order, protocol.Skill | protocol.Abort | protocol.Drive):
            return order.agent
        of_all = protocol.Stop | protocol.Take | protocol.Leave | protocol.Join | protocol.Consent
        of_all |= protocol.Finish
        return "" if isinstance(order, of_all) else OPERATOR

    def refusal(self, visitor: Visitor, order: Order, seat: str) -> str:
        """Why a page may not give an order, in one sentence; "" = it may."""
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
            mine = self.seats.holder(order.seat, self.now_s()) == visitor.session
            return "" if mine else f"this page is not {order.seat}"
        if seat and self.seats.holder(seat, self.now_s()) != visitor.session:
            role = "in control" if seat == OPERATOR else f"the partner {seat}"
            return f"this page is not {role}"
        if isinstance(order, protocol.Drive) and not self._may_drive(visitor):
            return "a robot is driven only by the page that is also in control"
        if isinstance(order, protocol.Finish):
            return self._refusal_of_end(visitor)
        if isinstance(order, protocol.Practice):
            if not self._is_simulated():
                return "only a simulator has episodes to practise with"
            if self.view.is_running:
                return "the instruction is running; end it first"
        if isinstance(order, protocol.Again):
            if self.view.is_running:
                return "the instruction is running; end it first"
            if refusal := self.tries.refusal():
                return refusal
        # Without any agent yet, an instruction is for all that come.
        has_agents = bool(self.view.agents)
        asks = isinstance(order, protocol.Instruct)
        if asks and has_agents and not self.free_agents():
            return "all agents are persons; one has to leave its seat first"
        return ""

    def _refusal_of_end(self, visitor: Visitor) -> str:
        """Those who do a task by themselves say when it is over."""
        held = self.seats.all(self.now_s())
        if not any(held.get(agent) == visitor.session for agent in self.view.agents):
            return "only who does the task ends it; this page is not a partner"
        if not self.tries.is_open():
            return "nobody does a task alone here: a planner ends what it was told"
        return ""

    def _refusal_of_seat(self, visitor: Visitor, seat: str) -> str:
        holder = self.seats.holder(seat, self.now_s())
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
            if self.seats.holder(seat, self.now_s()) == visitor.session:
                return f"this page is {seat} already"
        refusals = (self._refusal_of_seat(visitor, seat) for seat in first_two)
        none = "" if first_two else "there are no agents yet"
        return none or next((refusal for refusal in refusals if refusal), "")

    def _may_drive(self, visitor: Visitor) -> bool:
        """In simulators every partner; elsewhere the operator, whom the gate asks as well."""
        return self._is_simulated() or self.seats.holder(OPERATOR, self.now_s()) == visitor.session

    def _is_simulated(self) -> bool:
        world = self.view.table.get("world", "info")
        return isinstance(world, dict) and world["simulated"] is True

    def free_agents(self) -> tuple[str, ...]:
        """The agents that are no persons."""
        taken = self.seats.all(self.now_s())
        return tuple(agent for agent in self.view.agents if agent not in taken)
