"""A chat model that filters ideas and words them anew, with questions of our own (ETPLAN-2.4)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeVar

from papers.et_plan_bench.generation.categories import Category
from papers.et_plan_bench.generation.idea import Idea, Phrasing, RejectedIdeaError
from planner.models.caller import BlockingLoop, Caller
from planner.models.chat import ChatModel, Message, Role, Speaker
from planner.models.replies.form import ReplyError, ReplyForm, check_length

UNREASONABLE = "the model calls it unreasonable"
PROSE = "the model's answer is neither Reasonable nor Unreasonable"
# A malformed answer is asked for once more.
_ATTEMPTS = 2
_MAX_WORDS = 60
_Value = TypeVar("_Value")

_COMMON = (
    "You check tasks for a household robot before anybody gives them to it. Answer with exactly "
    "one word, Reasonable or Unreasonable, and nothing else. A task is reasonable only if all of "
    "this is true:\n"
)
_RULES: dict[Category, tuple[str, ...]] = {
    Category.TWO_OBJECTS: (
        "A person can hold the first thing in one hand.",
        "A person can hold the second thing in one hand.",
        "Both things together are smaller than the place where they go.",
        "The two things have something to do with each other, as two fruits or a cup and a plate.",
        "Somebody might really ask for it: nobody keeps a book in a frying pan.",
    ),
    Category.TEMPORAL: (
        "A person can hold the first thing in one hand.",
        "A person can hold the second thing in one hand.",
        "The first thing is smaller than the second one.",
        "Both together are smaller than the place where they go.",
        "There is a reason to put the first thing into or onto the second one, such as order.",
        "Somebody might really ask for it: nobody puts a phone in a pot and that into a sink.",
    ),
}
_OTHER_RULES = (
    "What is to be carried can be held in one hand by a person.",
    "What is to be carried is smaller than the place where it goes.",
    "It is clear which things are meant.",
    "Somebody might really ask for it.",
)
_WORDING = (
    "Say the following request to a household robot in other, natural words. Keep every thing, "
    "place and room by its name, keep the order, and add nothing. Answer with the request alone, "
    "in one line."
)


@dataclass(frozen=True)
class Judgement:
    """The form of an answer to the filter; white space around it is ignored (ETPLAN-C6)."""

    grammar: str = 'root ::= "Reasonable" | "Unreasonable"\n'
    stop: tuple[str, ...] = ()
    max_tokens: int = 8

    def read(self, text: str, *, ended: bool) -> bool:  # noqa: ARG002 - one word is one word
        """Whether the task is reasonable.

        Raises:
            ReplyError: for anything but one of both words.
        """
        check_length(text)
        word = text.strip()
        if word not in ("Reasonable", "Unreasonable"):
            raise ReplyError(PROSE)
        return word == "Reasonable"


@dataclass(frozen=True)
class Wording:
    """The form of a request in other words, which has to name everything.

    Attributes:
        nouns: what it has to contain.
    """

    nouns: tuple[str, ...]
    grammar: str = "root ::= [A-Z] [A-Za-z0-9 ,.;:?'-]{8,240} [.?]\n"
    stop: tuple[str, ...] = ("\n",)
    max_tokens: int = 100

    def read(self, text: str, *, ended: bool) -> str:
        """The request.

        Raises:
            ReplyError: if it is not one line that names everything.
        """
        check_length(text)
        line = " ".join(text.split())
        if not ended or not line or len(line.split()) > _MAX_WORDS or "\n" in text.strip():
            raise ReplyError("the wording is not one line")
        missing = [noun for noun in self.nouns if noun not in line.lower()]
        if missing:
            raise ReplyError(f"the wording does not name {missing[0]}")
        return line


class ModelCritic:
    """Asks for each idea: first whether it is reasonable, then for words.

    Args:
        model: the chat model.
        constrained: whether grammars are sent with requests.

    Attributes:
        unworded: how many texts stayed as they were, as the model's were of no use.
    """

    def __init__(self, model: ChatModel, *, constrained: bool = True) -> None:
        self._caller = Caller(
            "generate", model, Role.GENERATOR, deadline_s=60.0, constrained=constrained
        )
        self._loop = BlockingLoop()
        self.unworded: Counter[str] = Counter()

    def judged(self, idea: Idea, text: str, phrasing: Phrasing) -> str:
        """See `Critic`.

        Raises:
            RejectedIdeaError: if the model calls it unreasonable, or answers with prose twice.
            ModelError: if the model gives no reply.
        """
        rules = _RULES.get(idea.category, _OTHER_RULES)
        listed = "\n".join(f"{number}. {rule}" for number, rule in enumerate(rules, start=1))
        answer = self._ask(_COMMON + listed, f"Task: {text}", Judgement())
        if answer is None:
            raise RejectedIdeaError(PROSE)
        if not answer:
            raise RejectedIdeaError(UNREASONABLE)
        nouns = tuple(phrasing.noun(name) for name in idea.letters.values())
        worded = self._ask(_WORDING, text, Wording(nouns))
        if worded is None:
            self.unworded["kept in our own words, as the model's do not name everything"] += 1
        return worded or text

    def _ask(self, rules: str, question: str, form: ReplyForm[_Value]) -> _Value | None:
        """The answer; None if both attempts are malformed."""
        messages = (Message(Speaker.SYSTEM, rules), Message(Speaker.USER, question))
        for _ in range(_ATTEMPTS):
            reply = self._loop.run(self._caller.ask(messages, form))
            try:
                return reply.accepted()
            except ReplyError:
                continue
        return None

    def close(self) -> None:
        """Ends the thread of the calls."""
        self._loop.close()
