"""Has the robot carry out the operator's commands and records their outcomes."""

from __future__ import annotations

import copy
from collections.abc import Callable

from sim_bridge.control import Command, Outcome
from sim_bridge.safety.guard import Guard
from sim_bridge.safety.health import CLEARABLE_CAUSE, Supervised
from sim_bridge.safety.orders import HOLDS_IN_ANY_CASE, Order, meanwhile
from sim_bridge.safety.rules import Rule
from sim_bridge.safety.watch import Concern

# Keeps a receipt: agent, command, whether it was done, the reason, the rule.
Note = Callable[[str, str, bool, str, Rule | None], None]
# After these a person expects the agent to be a step nearer to moving.
_ENABLES = frozenset({Command.POWER_ON, Command.STAND})


class OrderExecutor:
    """One command per agent at a time; simulated agents finish at once."""

    def __init__(
        self,
        robot: Supervised | None,
        stop: Callable[[str], None],
        note: Note,
        on_claim: Callable[[str], None],
        concern: Callable[[str, Guard], Concern | None],
    ) -> None:
        """Commands to `robot`.

        Args:
            robot: carries them out; None for simulated agents.
            stop: ends an agent's motion.
            note: keeps a receipt.
            on_claim: called when an agent is claimed or released.
            concern: the rules' first reason why an agent may not move now, None if it may.
        """
        self._robot, self._stop, self._note, self._on_claim = robot, stop, note, on_claim
        self._concern = concern

    def carry_out(self, agent: str, guard: Guard, command: Command) -> Outcome:
        """Carries a command out and waits for its end."""
        order = self._agree(agent, guard, command)
        if order.outcome is None:
            robot = self._robot
            done = order.agreed if robot is None else robot.operate(agent, command)
            self._conclude(agent, guard, order, done)
        return order.outcome or order.agreed

    def take(self, agent: str, guard: Guard, command: Command) -> Order:
        """Starts a command if the rules allow it."""
        order = self._agree(agent, guard, command)
        if order.outcome is None:
            self.begin(agent, guard, order)
        return order

    def begin(self, agent: str, guard: Guard, order: Order) -> None:
        """Starts a command, which ends at once or in a later `follow`."""
        done: Outcome | None = order.agreed
        if self._robot is not None:
            guard.order = order
            done = self._robot.begin(agent, order.command)
        if done is not None:
            self._conclude(agent, guard, order, done)

    def follow(self, agent: str, guard: Guard) -> None:
        """Checks whether the running command has ended."""
        if guard.order is not None and self._robot is not None:
            done = self._robot.ended(agent)
            if done is not None:
                self._conclude(agent, guard, guard.order, done)

    def give_up(self, agent: str, guard: Guard, why: str) -> None:
        """Gives up the running command."""
        if guard.order is not None:
            self._conclude(agent, guard, guard.order, Outcome(False, why))

    def _agree(self, agent: str, guard: Guard, command: Command) -> Order:
        """Checks a command by the rules; an allowed one replaces the running one."""
        under_way = guard.order
        told = None if under_way is None else meanwhile(under_way.command, command)
        order = Order(command, Rule.CONSENT, told or copy.copy(guard.control).apply(command))
        if told is not None or not order.agreed.success:
            order.outcome = order.agreed
            success, message = order.agreed.success, order.agreed.message
            self._note(agent, command, success, message, Rule.CONSENT)
            return order
        self.give_up(agent, guard, f"{command} took its place")
        if command in HOLDS_IN_ANY_CASE:
            guard.control.apply(command)
        if order.agreed.stops:
            self._stop(agent)
        if command in (Command.CLAIM, Command.RELEASE):
            self._on_claim(agent)
        return order

    def _conclude(self, agent: str, guard: Guard, order: Order, done: Outcome) -> None:
        """Records the end of a command."""
        guard.order, command = None, order.command
        if done.success:
            guard.control.apply(command)
            if command is Command.CLAIM:
                guard.watch.claimed()
                guard.attendance.hand_over()
                self._clear_faults(agent)
            if command in (Command.STAND, Command.POWER_ON):
                guard.rested.clear()
                guard.attendance.hand_over()
                guard.sent_home = False
        message = self._told(agent, guard, order) if done.success else done.message
        order.outcome = Outcome(done.success, message, order.agreed.stops)
        self._note(agent, command, done.success, message, order.rule)

    def _told(self, agent: str, guard: Guard, order: Order) -> str:
        """What was done, and what forbids motion all the same."""
        wrong = self._concern(agent, guard) if order.command in _ENABLES else None
        said = order.agreed.message
        return said if wrong is None else f"{said}, but it may not move: {wrong.text}"

    def _clear_faults(self, agent: str) -> None:
        if self._robot is not None:
            causes = {fault.cause for fault in self._robot.health(agent).faults}
            if CLEARABLE_CAUSE in causes:
                self._robot.clear_faults(agent, CLEARABLE_CAUSE)
