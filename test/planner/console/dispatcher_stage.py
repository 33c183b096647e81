"""A dispatcher of orders with robots that note what they are asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from console_messages import info

from planner.console.dispatcher import OrderDispatcher, SessionRecord
from planner.console.orders import Done
from planner.console.protocol import (
    Correct,
    Instruct,
    Order,
    Skill,
    Take,
)
from planner.console.rights import Visitor
from planner.console.view import View


class Robots:
    """Notes what it is asked for; ends all of it at once, or a finish when the test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        # Whether an end is held back, and those that are.
        self.is_slow = False
        self.waiting: list[Done] = []

    def instruct(
        self, words: str, agents: Sequence[str], dialogue: Sequence[str], done: Done
    ) -> None:
        self.asked.append(("instruct", words, tuple(agents), tuple(dialogue)))
        done(True, "DONE")

    def again(self, words: str, agents: Sequence[str], done: Done) -> None:
        self.asked.append(("again", words, tuple(agents)))
        done(True, "DONE")

    def finish(self, done: Done) -> None:
        self.asked.append(("finish",))
        if self.is_slow:
            self.waiting.append(done)
        else:
            done(True, "success")

    def load(self, episode: str, done: Done) -> None:
        self.asked.append(("load", episode))
        done(True, "the world is ready")

    def answer(self, words: str, done: Done) -> None:
        self.asked.append(("answer", words))
        done(True, "sent")

    def cancel(self, done: Done) -> None:
        self.asked.append(("cancel",))
        done(True, "ends")

    def stop(self, agents: Sequence[str], done: Done) -> None:
        self.asked.append(("stop", tuple(agents)))
        done(True, "stopped")

    def skill(self, agent: str, call: str, done: Done) -> None:
        self.asked.append(("skill", agent, call))
        done(False, "too far")

    def abort(self, agent: str) -> None:
        self.asked.append(("abort", agent))

    def drive(self, agent: str, body: str, forward: float, turn: float, done: Done) -> None:
        self.asked.append(("drive", agent, body, forward, turn))
        done(body != "statue", "drives" if body != "statue" else "it cannot be driven")

    def approve(
        self, agent: str, question: str, answer: Literal["yes", "no", "kind"], done: Done
    ) -> None:
        self.asked.append(("approve", agent, question, answer))
        done(True, "answered")

    def correct(self, correction: Correct, author: str, done: Done) -> None:
        self.asked.append(("correct", correction.change, author))
        done(True, "corrected")

    def show_pictures(self, *, on: bool) -> None:
        self.asked.append(("pictures", on))


class Console:
    """A dispatcher, its robots, and a clock that only the test moves."""

    def __init__(self, view: View, record: Path, agents: Sequence[str]) -> None:
        if agents:
            view.take("/world/info", info(*agents))
        self.view, self.robots, self.now_s = view, Robots(), 0.0
        self.record = record
        self.dispatcher = OrderDispatcher(
            view, self.robots, SessionRecord(str(record)), lambda: self.now_s
        )

    def page(self, session: str, *, may_order: bool = True) -> Visitor:
        visitor = Visitor(session, may_order)
        self.dispatcher.visitor_joined(visitor)
        return visitor

    def dispatch(self, visitor: Visitor, order: Order) -> tuple[bool, str]:
        ended: list[tuple[bool, str]] = []
        self.dispatcher.dispatch(visitor, order, lambda good, text: ended.append((good, text)))
        (outcome,) = ended
        return outcome

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.record.read_text().splitlines()]


WORDS = Instruct(type="instruct", order=1, words="Tidy.")
PARTNER = Take(type="take", order=1, seat="agent_1")
PICK = Skill(type="skill", order=1, agent="agent_1", call="Pick[cup_0]")
