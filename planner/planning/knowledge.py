"""What a robot can tell and answer: what a file says, its clock, itself, and what it remembers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from planner.language.answers import UNSEEN
from planner.language.english import words
from planner.language.goal_form import Goal, Tell
from planner.language.interpretation import interpret
from planner.language.lexicon import Spot, Topic
from planner.language.questions import asks
from planner.memory.query import Believed, ask
from planner.world.files import FileModel, read_model
from planner.world.person import MAX_SAID
from planner.world.share import config_dir

SHIPPED = config_dir() / "knowledge.yaml"
_SELF = {
    Topic.YOURSELF: "I am a household robot that understands words.",
    Topic.JOKE: "Why did the robot cross the room? It was told to.",
}
# What the clock of the robot's computer says, in the local time.
_BY_THE_CLOCK = {
    Topic.TIME: "It is %H:%M.",
    Topic.DAY: "Today is %A, the %d of %B %Y.",
    Topic.TOMORROW: "Tomorrow is %A, the %d of %B %Y.",
    Topic.WEEKDAY: "Today is %A.",
    Topic.DAY_OF_MONTH: "Today is the %d of %B.",
}
_SMALL = words("a an the is are was of in on to please s there our")
_BEFORE = re.compile(
    r"^(?:(?:hey|hi|hello|robot|please|so|and|(?:can|could|would) you (?:please )?tell me|tell me"
    r"|do you know)\b[ ,]*)+"
)
_WHAT_IS = re.compile(r"^what(?: is|'s) ")
# Words that ask for the same.
_SAME = {"which": "what", "whats": "what", "whos": "who"}
_NOTE = re.compile(
    r"^\w+\.\d+ | \([^)]*\)(?= is )|, (?:told|seen|done) at .*$|_\d+\b", re.MULTILINE
)

Said = Annotated[str, Field(min_length=1, max_length=MAX_SAID - len("answer: "))]


class Team(FileModel):
    """Of the people who enter the robot; "" = not told."""

    name: str = ""
    country: str = ""
    affiliation: str = ""


class KnownAnswer(FileModel):
    """What is said to any of several questions."""

    say: Said
    ask: tuple[Said, ...] = Field(min_length=1)


class Knowledge(FileModel):
    """A file of what a robot knows.

    Attributes:
        team: whose robot it is.
        answers: no question has two.
    """

    team: Team = Team()
    answers: tuple[KnownAnswer, ...] = ()

    @model_validator(mode="after")
    def _each_question_once(self) -> Knowledge:
        by_words: dict[frozenset[str], str] = {}
        for number, known in enumerate(self.answers):
            for question in known.ask:
                content = _content(question)
                if not content:
                    raise ValueError(f"answers.{number}.ask: {question!r} has only small words")
                if by_words.setdefault(content, known.say) != known.say:
                    raise ValueError(f"answers.{number}.ask: {question!r} has another answer, too")
        return self

    def find(self, question: str) -> str | None:
        """The answer to a question by its words."""
        content = _content(question)
        same = (k.say for k in self.answers for q in k.ask if content == _content(q))
        return next(same, None)

    def about(self, topic: Topic, now: datetime | None = None) -> str | None:
        """What is told of a topic that is the robot's to know; None if it is not known.

        `now` is for the clock; None = the computer's, in the local time.
        """
        if topic in _SELF:
            return _SELF[topic]
        if topic in _BY_THE_CLOCK:
            return _of_the_clock(topic, now or datetime.now().astimezone())
        part = _TEAM.get(topic)
        return (part(self.team) or None) if part is not None else None

    def reply(self, question: str) -> str | None:
        """The answer to a question that needs no memory."""
        found = self.find(question)
        if found is not None:
            return found
        asked = _BEFORE.sub("", question.lower().strip(" ?.!"))
        for said in (asked, _WHAT_IS.sub("", asked)):
            goal = interpret(f"Tell me {said}.")
            told = goal.requests[0] if isinstance(goal, Goal) and len(goal.requests) == 1 else None
            if isinstance(told, Tell) and told.to is Spot.ME:
                return self.about(told.topic)
        return None

    def answer(self, question: str, memory: Believed) -> str | None:
        """The answer to a question, in one breath; None if nobody knows it.

        A memory that has nothing of what is asked for knows no answer.
        """
        found = self.reply(question)
        if found is not None or not asks(question):
            return found
        told = ask(memory, question)
        if told.unknown or UNSEEN in told.text or told.text.startswith("Nothing"):
            return None
        lines = [line for line in told.text.splitlines() if not line.startswith("Matched by")]
        said = " ".join(map(_spoken, lines))
        return said[: MAX_SAID - len("answer: ")]


_TEAM: Mapping[Topic, Callable[[Team], str]] = {
    Topic.TEAM_NAME: lambda team: team.name,
    Topic.TEAM_COUNTRY: lambda team: team.country,
    Topic.TEAM_AFFILIATION: lambda team: team.affiliation,
}


@lru_cache(maxsize=8)
def read_knowledge(path: Path = SHIPPED) -> Knowledge:
    """Reads a file of what a robot knows, once.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, Knowledge)


def _content(question: str) -> frozenset[str]:
    """The words of a question that tell it apart from others."""
    said = re.findall(r"\w+", _BEFORE.sub("", question.lower().replace("'", "").strip()))
    return frozenset(_SAME.get(word, word) for word in said if word not in _SMALL)


def _spoken(line: str) -> str:
    """A line of a memory's answer as one says it, such as "The couch is in living room."."""
    said = _NOTE.sub("", line).replace("_", " ").rstrip(". ")
    return f"The {said}." if said[:1].islower() else f"{said}."


def _of_the_clock(topic: Topic, now: datetime) -> str:
    """What the clock says at a time; the names of days and months are English."""
    day = now + timedelta(days=1) if topic is Topic.TOMORROW else now
    return day.strftime(_BY_THE_CLOCK[topic])
