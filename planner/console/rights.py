"""Which page may give which order now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.console import protocol
from planner.console.protocol import Order
from planner.console.seats import OPERATOR, Seats
from planner.console.tries import Tries
from planner.console.view import View
from planner.console.visitor import Visitor


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
