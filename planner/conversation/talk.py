"""What a robot does about what is said while it carries out a task, and what it replies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from pydantic import JsonValue, ValidationError

from planner.conversation.afterwards import added, joined
from planner.conversation.changes import Changed, Doubt, changed, text_of
from planner.conversation.journal import Standing, told
from planner.conversation.slots import ONES, PREPOSITION, phrases_in, place_in
from planner.conversation.utterances import Kind, Utterance, utterance_of
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.questions import asks
from planner.language.reading import Ask
from planner.world.belief import Belief
from planner.world.bounds import MAX_TEXT_LENGTH
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall
from planner.world.topics import InstructionCode, one_line
from planner.world.vocabulary import Relation

PERSON, ROBOT = "person", "robot"
# What is kept of a conversation, and of one thing said.
MAX_SAID, MAX_CHARACTERS = 40, 400


class Session(Protocol):
    """A task in progress, see `planner.planning.session.Session`."""

    @property
    def is_held(self) -> bool:
        """Whether a person has stopped the agents."""

    @property
    def running(self) -> Mapping[str, SkillCall]:
        """The call of each busy agent."""

    @property
    def standing(self) -> Standing:
        """How far the task is."""

    def hold(self) -> None:
        """All agents stand until `go_on`."""

    def go_on(self) -> None:
        """What was stopped goes on."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What an instruction is from now on.

    Attributes:
        text: in words.
        goal: what the words mean, if that is known.
        other: words of it that stand for another thing than so far; "" = none.
        halts: whether what the agents do now may be wrong.
    """

    text: str
    goal: Goal | None
    other: str = ""
    halts: bool = True


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said.

    Attributes:
        stamp_s: on the world's clock.
        who: `person` or `robot`.
    """

    stamp_s: float
    who: str
    text: str


def as_json(said: Sequence[Said]) -> str:
    """A conversation as it is published: oldest first; "" = nothing was said.

    Of what is longer than `MAX_TEXT_LENGTH` the oldest is left out.
    """
    found = [{"t": round(one.stamp_s, 3), "who": one.who, "text": one.text} for one in said]
    while len(text := json.dumps(found, ensure_ascii=False)) > MAX_TEXT_LENGTH:
        del found[0]
    return text if found else ""


class Next(StrEnum):
    """What becomes of the running task, or of the one that was told."""

    NOTHING = "nothing"
    QUEUE = "queue"
    REPLACE = "replace"
    END = "end"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one thing said.

    Attributes:
        question: what has to be answered first; then the same is said again, with the answer.
        next: what becomes of the running task.
        instruction: the task that comes next, for QUEUE and REPLACE.
        stands: whether it holds only once all agents stand.
    """

    text: str
    code: InstructionCode = InstructionCode.DONE
    question: str = ""
    next: Next = Next.NOTHING
    instruction: str = ""
    stands: bool = False


NOTHING_TO_STOP = "nothing was done: nothing was under way that could be stopped"
NOTHING_TO_GO_ON = "nothing was done: nothing was stopped that could go on"
_LATER = re.compile(r"\b(afterwards?|after|later|then|next|queue|second|when you are done|yes)\b")
_NOW = re.compile(r"\b(instead|now|first|replace|rather|at once|immediately|new)\b")
_NEITHER = re.compile(r"\b(no|not|neither|never|forget|nothing|cancel|none|leave)\b")


def reply_without_task(text: str) -> Reply | None:
    """The reply to what is about a running task where there is none; None for all else."""
    kind = utterance_of(text).kind
    if kind in (Kind.STOP, Kind.CANCEL):
        return Reply(NOTHING_TO_STOP, InstructionCode.NO_GOAL)
    if kind is Kind.GO_ON:
        return Reply(NOTHING_TO_GO_ON, InstructionCode.NO_GOAL)
    return None


def is_task(text: str) -> bool:
    """Whether words are a task by themselves: not "the bowl", "take the bowl", "wash it"."""
    words = re.findall(r"[a-z']+", text.lower())
    short = len(words) < 5 and words[:1] in (["take"], ["use"], ["get"], ["fetch"], ["bring"])
    is_goal = isinstance(interpret(text), Goal) and not asks(text)
    return is_goal and not (short and "me" not in words)


def names_something(text: str) -> bool:
    """Whether words only name a thing or a place, as an answer does: "the blue one"."""
    words = " ".join(text.lower().split()).strip(" .!")
    is_one = ONES.search(words) is not None or words.partition(" ")[2] in _ORDINALS
    return bool(is_one or phrases_in(words) or (PREPOSITION.match(words) and place_in(words)))


@dataclass(frozen=True, slots=True)
class _Open:
    """A question of the robot, and what was said that it is about.

    Attributes:
        options: what an answer chooses among; none = the answer itself is what was meant.
        more: whether the options come in addition.
    """

    question: str
    said: str
    options: tuple[tuple[str, Changed], ...] = ()
    more: bool = False
    task: str = ""


class Talk:
    """The conversation about one task, from its acceptance to its end.

    Attributes:
        instruction: as it is by now.
        is_revised: whether that is another one than at first.
        said: by whom, oldest first.
    """

    def __init__(
        self,
        instruction: str,
        belief: Callable[[], Belief],
        now_s: Callable[[], float],
        revise: Callable[[Revision], None],
    ) -> None:
        """`now_s`: of the world's clock.

        `revise` gives the session another task; raises `PlannerError` if no planner can do it.
        """
        self.instruction = instruction
        self._belief, self._now_s, self._revise = belief, now_s, revise
        self._session: Session | None = None
        # Said before the task has begun; and whether somebody said so, or all stand for a question.
        self._is_held = self._was_stopped = False
        self._goal: Goal | None = None
        self._open: _Open | None = None
        self.is_revised = False
        self.said: tuple[Said, ...] = ()

    def begin(self, session: Session) -> None:
        """The task begins; it stands if it was stopped before."""
        self._session = session
        if self._is_held:
            session.hold()

    def understood(self, goal: Mapping[str, JsonValue]) -> None:
        """What the planner has understood; of a form that is not known it tells nothing."""
        try:
            self._goal = Goal.model_validate(goal["understood"])
        except (KeyError, ValidationError):
            return

    @property
    def goal(self) -> Goal | None:
        """What is asked for; None if it is known to the planner alone."""
        if self._goal is None:
            reading = interpret(self.instruction)
            self._goal = reading if isinstance(reading, Goal) else None
        return self._goal

    @property
    def is_held(self) -> bool:
        """Whether the task was stopped and may go on."""
        return self._is_held if self._session is None else self._session.is_held

    @property
    def asks(self) -> str:
        """The question about something that was said; "" = none."""
        return self._open.question if self._open is not None else ""

    def hear(self, text: str, dialogue: Sequence[str] | None = ()) -> Reply:
        """Does what is said and tells what to reply.

        Args:
            text: what is said, or what was said before a question.
            dialogue: questions about it and their answers; the last one may be news. None = it is
                only text, under which no task can be followed.
        """
        if (
            dialogue is not None
            and len(dialogue) > 1
            and self._open is not None
            and dialogue[-2] == self._open.question
        ):
            text = dialogue[-1]
        self._note(PERSON, text)
        reply = self._reply(text)
        if dialogue is None and reply.next in (Next.QUEUE, Next.REPLACE):
            text = "Another task has to be a goal of its own: give it on /instruct."
            reply = Reply(text, InstructionCode.BAD_REQUEST)
        if not reply.stands:
            self._note(ROBOT, reply.question or reply.text)
        return reply

    def stood(self, reply: Reply) -> Reply:
        """The reply once all agents stand, with what they hold then."""
        full = replace(reply, text=f"{reply.text} {self._held_things()}".strip())
        self._note(ROBOT, full.text)
        return full

    def silence(self, question: str) -> bool:
        """Nobody has answered: the task goes on as it was. False if it was answered."""
        if self._open is None or self._open.question != question:
            return False
        self._open = None
        if self._was_stopped:
            self._note(ROBOT, 'Nobody answered; all agents stand: say "go on".')
        else:
            self._note(ROBOT, f"Nobody answered; I go on as before: {self.instruction[:200]}")
            self._go()
        return True

    def _note(self, who: str, text: str) -> None:
        one = Said(self._now_s(), who, one_line(text)[:MAX_CHARACTERS])
        self.said = (*self.said, one)[-MAX_SAID:]

    def _reply(self, text: str) -> Reply:
        said = utterance_of(text)
        if said.kind is Kind.STOP:
            return self._stop()
        if said.kind is Kind.GO_ON:
            self._open = None
            return self._go_on()
        if said.kind is Kind.CANCEL and self._open is None:
            self._hold()
            return Reply("The task is ended; all agents stand.", next=Next.END, stands=True)
        if said.stops:
            self._was_stopped = True
            self._hold()
        if said.kind is Kind.ASK and said.about is not None:
            return Reply(self._told(said))
        asked, self._open = self._open, None
        if asked is not None and (answer := self._answered(asked, text, said)) is not None:
            return answer
        ways: dict[Kind, Callable[[Utterance], Reply | None]] = {
            Kind.CHANGE: self._correct,
            Kind.ADD: self._add,
            Kind.QUEUE: self._queue,
            Kind.REPLACE: self._replace,
            Kind.CHAT: lambda _: Reply(f"All right. {self._at_it()}"),
        }
        way = ways.get(said.kind)
        return (way(said) if way is not None else None) or self._other(said, text)

    # Standing and going on

    def _hold(self) -> None:
        self._is_held = True
        if self._session is not None:
            self._session.hold()

    def _go(self) -> None:
        self._is_held = self._was_stopped = False
        if self._session is not None:
            self._session.go_on()

    def _stop(self) -> Reply:
        self._was_stopped = True
        self._hold()
        text = 'All agents stand. The task waits: say "go on" to go on with it, or "cancel".'
        return Reply(text, stands=True)

    def _go_on(self) -> Reply:
        if not self.is_held:
            return Reply(self._at_it())
        self._go()
        return Reply(f"I go on with: {self.instruction[:200]}")

    def _at_it(self) -> str:
        held = ' All agents stand; say "go on".' if self.is_held else ""
        return f"I am at it: {self.instruction[:200]}{held}"

    def _held_things(self) -> str:
        held = [
            f"{node.parent} holds {node.name}."
            for node in self._belief().nodes.values()
            if node.relation is Relation.HELD and node.parent
        ]
        return " ".join(held)

    def _told(self, said: Utterance) -> str:
        standing = self._session.standing if self._session is not None else Standing()
        about = said.about
        return told(about, self.instruction, standing, self._belief()) if about else ""

    # Changes

    def _correct(self, said: Utterance) -> Reply | None:
        """A correction; what is not understood is asked about while all stand."""
        goal = self.goal
        if goal is None:
            text = f"{self.instruction.rstrip('.')}. Correction: {said.rest}."
            return self._revised(Revision(text, None))
        found = changed(goal, said.rest, self._focus())
        if found is None:
            return self._asked(_Open(f'What is meant by "{said.rest[:80]}"?', said.rest))
        return self._taken(found, said.rest)

    def _taken(self, found: Changed | Doubt, said: str) -> Reply:
        if isinstance(found, Doubt):
            return self._asked(_Open(found.question, said, found.options))
        if found.goal is None:
            self._hold()
            return Reply("Nothing is left to do; the task is ended.", next=Next.END, stands=True)
        return self._revised(Revision(text_of(found.goal), found.goal, found.other))

    def _asked(self, asked: _Open) -> Reply:
        """A question about a correction: what is done meanwhile may be wrong, so all stand."""
        self._hold()
        self._open = asked
        text = "All agents stand until this is answered."
        return Reply(text, InstructionCode.QUESTION, asked.question, stands=True)

    def _revised(self, revision: Revision) -> Reply:
        try:
            self._revise(revision)
        except PlannerError as error:
            return Reply(f"I cannot: {error}", InstructionCode.BAD_REQUEST)
        self.instruction, self._goal, self.is_revised = revision.text, revision.goal, True
        self._go()
        other = f" Another than {revision.other} so far." if revision.other else ""
        return Reply(f"Now: {revision.text}{other}")

    def _add(self, said: Utterance, *, then: bool = False) -> Reply | None:
        goal = self.goal
        if goal is None:
            text = f"{self.instruction.rstrip('.')}. In addition: {said.rest}."
            return self._revised(Revision(text, None))
        more = added(goal, said.rest)
        if isinstance(more, Doubt):
            self._open = _Open(more.question, said.rest, more.options, more=True)
            return Reply("", InstructionCode.QUESTION, more.question)
        both = joined(goal, more, then=then) if more is not None else None
        if both is None:
            return None
        return self._revised(Revision(text_of(both), both, halts=False))

    def _queue(self, said: Utterance) -> Reply | None:
        """A task for afterwards; "then wash it" is of the same one."""
        if isinstance(interpret(said.rest), Goal | Ask) and is_task(said.rest):
            return Reply(f"Afterwards: {said.rest}", next=Next.QUEUE, instruction=said.rest)
        return self._add(said, then=True)

    def _replace(self, said: Utterance) -> Reply | None:
        goal = self.goal
        if goal is not None and not is_task(said.rest):
            found = changed(goal, said.rest, self._focus())
            if found is not None:
                return self._taken(found, said.rest)
        if isinstance(interpret(said.rest), Goal | Ask) or goal is None:
            return Reply(f"Instead: {said.rest}", next=Next.REPLACE, instruction=said.rest)
        return None

    def _other(self, said: Utterance, text: str) -> Reply:
        """Another task is asked about; else it may be a correction in short, or nothing known."""
        goal = self.goal
        words = said.rest or text.strip(" .!")
        is_same = words.lower() == self.instruction.strip(" .!").lower()
        if is_task(words) and not is_same:
            question = f'"{words[:80]}": afterwards, instead, or not at all?'
            self._open = _Open(question, words, task=words)
            return Reply("", InstructionCode.QUESTION, question)
        news = goal if not is_same else None
        found = changed(news, words, self._focus()) if news is not None else None
        if found is not None:
            return self._taken(found, words)
        busy = (
            f"another instruction is being followed: {self.instruction[:80]!r}; "
            "cancel it first, or wait for its end"
        )
        held = " All agents stand." if self.is_held else ""
        return Reply(f"{busy}.{held}" if held else busy, InstructionCode.BUSY)

    def _answered(self, asked: _Open, text: str, said: Utterance) -> Reply | None:
        """What an answer makes of what was asked; None if it is none."""
        lower = text.lower()
        if asked.task:
            if _NOW.search(lower):
                return self._replace(Utterance(Kind.REPLACE, asked.task))
            if _NEITHER.search(lower):
                return Reply(f"All right, not that. {self._at_it()}")
            if _LATER.search(lower):
                self._go()
                return Reply(f"Afterwards: {asked.task}", next=Next.QUEUE, instruction=asked.task)
            return None
        if said.kind is Kind.CANCEL or lower.strip(" .!") in ("no", "neither", "nothing", "none"):
            self._go()
            return Reply(f"All right, I go on as before: {self.instruction[:200]}")
        chosen = _chosen(asked.options, lower)
        if chosen is None:
            return None
        if not asked.more:
            return self._taken(chosen, asked.said)
        goal, more = self.goal, chosen.goal
        both = joined(goal, more) if goal is not None and more is not None else None
        return self._revised(Revision(text_of(both), both, halts=False)) if both else None

    def _focus(self) -> frozenset[str]:
        """The classes of what the agents are at."""
        running = self._session.running.values() if self._session is not None else ()
        names = [name for call in running for name in call.arguments[:1] if name]
        return frozenset(name.rpartition("_")[0] for name in names)


_ORDINALS = {"first": 0, "former": 0, "second": 1, "latter": 1, "third": 2, "last": -1}


def _chosen(options: Sequence[tuple[str, Changed]], answer: str) -> Changed | None:
    """The option that an answer means; None if that is not clear."""
    if not options:
        return None
    words = set(re.findall(r"[a-z]+", answer))
    for word, at in _ORDINALS.items():
        if word in words and at < len(options):
            return options[at][1]
    sets = [set(re.findall(r"[a-z]+", said.lower())) for said, _ in options]
    common = set.intersection(*sets)
    scores = [len((words - common) & said) for said in sets]
    best = max(scores)
    return options[scores.index(best)][1] if best and scores.count(best) == 1 else None
