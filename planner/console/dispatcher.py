"""Takes the orders of pages, checks who may give them, records them and passes them on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from planner.console import protocol
from planner.console.facts import Json
from planner.console.orders import Done, Orders
from planner.console.protocol import Order, named
from planner.console.rights import GRACE_S, OPERATOR, Rights, Seats, Tries, Try, Visitor
from planner.console.view import View
from planner.world.episode import read_episode
from planner.world.files import writing
from planner.world.share import config_dir

# Where a person waits for a second one; two become the partners of two agents (PARTNR-10).


@dataclass(slots=True)
class Lobby:
    """Sessions that wait, the one that came first before the others."""

    _waiting: list[str] = field(default_factory=list)

    def join(self, session: str) -> tuple[str, str] | None:
        """Waits, or ends the waiting of the first one: both sessions, or None."""
        others = [other for other in self._waiting if other != session]
        if not others:
            self._waiting = [session]
            return None
        self._waiting = others[1:]
        return others[0], session

    def leave(self, session: str) -> None:
        """Waits no longer, if it did."""
        self._waiting = [other for other in self._waiting if other != session]

    @property
    def waiting(self) -> tuple[str, ...]:
        """Who waits."""
        return tuple(self._waiting)


# Four episodes to practise with, one of each type of task, all in one house (PARTNR-10).


@dataclass(frozen=True, slots=True)
class Lesson:
    """An episode to practise with.

    Attributes:
        episode: name of a shipped one.
        title: what is practised.
        hint: what to think of.
    """

    episode: str
    title: str
    hint: str

    @property
    def words(self) -> str:
        """The episode's instruction."""
        return _instruction(self.episode)


@lru_cache(maxsize=8)
def _instruction(episode: str) -> str:
    # Not by `find_episode`, which brings the checks of whole houses with it.
    return read_episode(config_dir() / "episodes" / "train" / f"{episode}.json").instruction


LESSONS = (
    Lesson(
        "books_back_0",
        "find things and bring them",
        "Look around in a room first: what nobody has seen cannot be picked up.",
    ),
    Lesson(
        "bedside_0",
        "put things next to each other",
        "Put the second thing on the piece that has the first one: it stands beside it if there "
        "is room.",
    ),
    Lesson(
        "bathroom_order_0",
        "keep an order",
        "Open the cabinet first. What is put in too early does not count.",
    ),
    Lesson(
        "clean_plates_0",
        "change what things are like",
        "A robot cannot clean: this is for who is a human agent.",
    ),
)


def lessons_shown() -> list[Json]:
    """For the page, in their order."""
    return [{"episode": one.episode, "title": one.title, "hint": one.hint} for one in LESSONS]


def number_of(words: str) -> int:
    """The number of the lesson with this instruction, 1 = the first; 0 = none has it."""
    return next((n for n, one in enumerate(LESSONS, 1) if one.words == words), 0)


# Who did what at the console, as lines of JSON.


class SessionRecord:
    """A file to which each order and each outcome is one line; "" = none is written."""

    def __init__(self, path: str) -> None:
        """Opens it to append.

        Raises:
            FileError: if it cannot be written.
        """
        self._file = None
        if not path:
            return
        with writing(path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - open until the end

    def write(self, who: str, seat: str, what: str, **more: object) -> str:
        """Writes a line at once, so that it survives the end of the process.

        Args:
            who: session and name of the person.
            seat: in which it was done; "" = none.
            what: the order or its outcome.
            more: fields of it.

        Returns:
            Why it could not be written, once: a full disk ends the record and nothing else.
        """
        if self._file is None:
            return ""
        line = {"wall_s": round(time.time(), 3), "who": who, "seat": seat, "what": what, **more}
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError as error:
            self._file = None
            return f"the record of this console ends: {error.strerror}"
        return ""

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()


@dataclass(slots=True)
class OrderDispatcher:
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
    _rights: Rights = field(init=False)
    # Lessons that were done.
    _practised: set[int] = field(default_factory=set)
    # Whether the judge was asked for its verdict.
    _is_ending: bool = False
    _lobby: Lobby = field(default_factory=Lobby)
    # By session: whether its person agreed that what they do trains planners.
    _consents: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Hears what the judge says of the running try."""
        self.view.table.set("practice", "lessons", lessons_shown())
        self._rights = Rights(self.view, self._seats, self._tries, self.now_s)
        self.view.on_judgement = self._judged

    def visitor_joined(self, visitor: Visitor) -> None:
        """A page was opened; the first one that may give orders gets the operator's seat."""
        self._visitors.append(visitor)
        self._seats.session_joined(visitor.session)
        if visitor.may_order and not self._seats.holder(OPERATOR, self.now_s()):
            self._seats.take(OPERATOR, visitor.session, self.now_s())
        self._show_seats()

    def visitor_left(self, visitor: Visitor) -> None:
        """A page was closed or lost: what its partner does ends, its seats stay for a moment."""
        self._visitors.remove(visitor)
        self.pictures_wanted(visitor, on=False)
        if any(other.session == visitor.session for other in self._visitors):
            return
        self._lobby.leave(visitor.session)
        for seat in self._seats.session_left(visitor.session, self.now_s()):
            if seat != OPERATOR:
                self.orders.abort(seat)
                self._driven.pop(seat, None)
                self._note(visitor, seat, "page lost", None)
        self._show_seats()
        self.expire(GRACE_S + 0.1)

    def importance(self, visitor: Visitor) -> int:
        """2 = the newest page of who has a seat, 1 = one that may give orders, 0 = it looks."""
        newest = next(v for v in reversed(self._visitors) if v.session == visitor.session)
        if newest is visitor and visitor.session in self._seats.all(self.now_s()).values():
            return 2
        return int(visitor.may_order)

    def expire_seats(self) -> None:
        """Shows which seats have become free."""
        self._show_seats()

    def pictures_wanted(self, visitor: Visitor, *, on: bool) -> None:
        """A page shows pictures or no longer does."""
        visitor.shows_pictures = on
        self.orders.show_pictures(on=any(each.shows_pictures for each in self._visitors))

    def dispatch(self, visitor: Visitor, order: Order, done: Done) -> None:
        """Carries out an order, or refuses it in one sentence through `done`."""
        seat = self._rights.seat_of(order)
        refusal = self._rights.refusal(visitor, order, seat)
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
            self.view.say(visitor.who, f"{named(order)}: {text}", good=good)
            done(good, text)

        self._pass_on(visitor, order, ended)

    def _begin_try(self, visitor: Visitor, order: Order) -> None:
        """An instruction is a try; an answer that continues a dialogue is of the same one."""
        together = False
        if isinstance(order, protocol.Again):
            # What persons did by themselves they do by themselves again.
            words, together = self._tries.task, self._tries.together or not self._is_told()
        elif isinstance(order, protocol.Instruct) and not order.dialogue:
            words = order.words
        else:
            return
        self._begin(visitor, words, together=together)

    def _begin(self, visitor: Visitor, words: str, *, together: bool, first: bool = False) -> None:
        if (given_up := self._tries.give_up()) is not None:
            # One that was stopped or canceled has no verdict.
            self._note_end(given_up)
        self._tries.begin(words, visitor.who, together=together, first=first)
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
                self.view.say(visitor.who, f"{named(order)}: {text}", good=False)
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

    def _instructed(self) -> tuple[str, ...]:
        """Whom an instruction is for; none named = all, also those that come later."""
        free = self._rights.free_agents()
        return () if free == self.view.agents else free

    def _judged(self, found: Mapping[str, Json]) -> None:
        percent, state = found["percent"], str(found["state"])
        ended = self._tries.judged(percent if isinstance(percent, float) else None, state)
        self._show_tries()
        if ended is not None:
            self._note_end(ended)
        elif percent == 1.0 and self._tries.is_open() and not self._is_ending:
            # As with a planner, the task ends when it is done (PARTNR-10).
            self._finish(lambda good, text: self.view.say("console", text, good=good))

    def _practise(self, visitor: Visitor, lesson: Lesson, done: Done) -> None:
        def loaded(good: bool, text: str) -> None:
            if good:
                self._begin(visitor, lesson.words, together=True, first=True)
            done(good, text)

        self.orders.load(lesson.episode, loaded)

    def _finish(self, done: Done) -> None:
        self._is_ending = True
        asked = self._tries.running()

        def ended(good: bool, text: str) -> None:
            self._is_ending = False
            # The verdict may be long there, and the next try have begun.
            if good and asked is not None and self._tries.running() is asked:
                # The judge may not have said anything since the try began, and its verdict may
                # have come before this answer.
                self._tries.expect_verdict()
                shown = self.view.table.get("judge", "now")
                if isinstance(shown, dict) and shown["state"] != "running":
                    self._judged(shown)
            done(good, text)

        self.orders.finish(ended)

    def _is_told(self) -> bool:
        """Whether a planner gets the words; two persons do the task by themselves."""
        return bool(self._rights.free_agents()) or not self.view.agents

    def _note_end(self, ended: Try) -> None:
        found = {"try": ended.number, "percent": ended.percent, "state": ended.state}
        best, task, who = self._tries.best(), self._tries.task, self._tries.who
        if (lesson := number_of(task)) and ended.state == "succeeded":
            self._practised.add(lesson)
            self.view.table.set("practice", "done", sorted(self._practised))
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
                words = "" if self._tries.together else self._tries.task
                self.orders.again(words, self._instructed(), done)
            case protocol.Finish():
                self._finish(done)
            case protocol.Practice():
                self._practise(visitor, LESSONS[order.lesson - 1], done)
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
            self._begin(visitor, str(world["task"]), together=True)
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
