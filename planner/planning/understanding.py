"""What an instruction in plain English asks for, by rules, answers or a model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import yaml
from pydantic import ValidationError

from planner.language.accounting import Accounting
from planner.language.english import NUMBERS
from planner.language.goal_form import REQUESTS, Description, Goal, Leave, Never
from planner.language.interpretation import (
    AnswerSort,
    interpret,
    read_answer,
    spelled,
    suggestions,
)
from planner.language.lexicon import (
    GENERIC_KINDS,
    GESTURES,
    PERSON,
    POSTURES,
    Actor,
    Arrangement,
    Occasion,
    Part,
    Pick,
    Relation,
    Sense,
    Size,
    Spot,
    Topic,
    default_lexicon,
)
from planner.language.likenesses import likeness
from planner.language.reading import (
    AlreadyTrue,
    Ask,
    AskReason,
    Impossible,
    ImpossibleReason,
    NoCommand,
    NoCommandReason,
    NotUnderstood,
    Refused,
    Source,
)
from planner.models.caller import Caller
from planner.models.chat import Message, Speaker
from planner.models.replies.form import ReplyError, check_length
from planner.planning.planner import Exchange
from planner.world.shapes import Color, Material
from planner.world.states import default_states
from planner.world.topics import InstructionCode

# What is said to the person about a text that is not a clear instruction.

_QUESTIONS = {
    AskReason.WHICH: "Which one is meant by {}?",
    AskReason.WHAT: "What is meant by {}?",
    AskReason.WHERE: "Where should it go: {}?",
    AskReason.DONE: "What exactly should be done about {}?",
    AskReason.MEANT: "Is this to be done: {}?",
}
_IMPOSSIBLE = {
    ImpossibleReason.CONTRADICTION: "{} contradicts itself",
    ImpossibleReason.AMOUNT: "{} is not a number of things",
    ImpossibleReason.UNFIT: "{} is not possible with such things",
}
_NO_COMMAND = {
    NoCommandReason.CHAT: "this asks for nothing that could be done",
    NoCommandReason.CODE: "this is a program, not an instruction in words",
    NoCommandReason.EMPTY: "the instruction is empty",
    NoCommandReason.LANGUAGE: "only instructions in English are understood",
    NoCommandReason.NOISE: "the instruction has no word that is known",
    NoCommandReason.QUESTION: "this is a question; expected something to do",
    NoCommandReason.STOP: "nothing was under way that could be stopped",
}


def question(ask: Ask) -> str:
    """The question to the person, with the words that it is about."""
    if len(ask.words) > 1:
        return f"Which is meant: {_alternatives(ask.words)}?"
    return _QUESTIONS[ask.reason].format(_quoted(ask.words))


def refusal(reading: NotUnderstood | Impossible | NoCommand) -> tuple[InstructionCode, str]:
    """The result of a text that cannot be carried out: its code, and one sentence."""
    if isinstance(reading, NoCommand):
        is_empty = reading.reason is NoCommandReason.EMPTY
        code = InstructionCode.BAD_REQUEST if is_empty else InstructionCode.NO_GOAL
        return code, f"nothing was done: {_NO_COMMAND[reading.reason]}"
    if isinstance(reading, Impossible):
        reason = _IMPOSSIBLE[reading.reason].format(_quoted(reading.words))
        return InstructionCode.BAD_REQUEST, f"nothing was done: {reason}"
    verb = "is" if len(reading.words) == 1 else "are"
    text = f"nothing was done: {_quoted(reading.words)} {verb} not understood"
    return InstructionCode.NO_GOAL, text + _near_misses(suggestions(reading))


def nothing_to_do(reading: AlreadyTrue) -> str:
    """The result of a text that asks for what is so."""
    return f"there is nothing to do: {_quoted(reading.words)} is true already"


def _near_misses(found: Mapping[str, Sequence[str]]) -> str:
    if not found:
        return ""
    near = (f"{_alternatives(words)} for {_quoted((word,))}" for word, words in found.items())
    return f"; known words like it are {', and '.join(near)}"


def _quoted(words: Sequence[str]) -> str:
    return " and ".join(f'"{word}"' for word in words)


def _alternatives(words: Sequence[str]) -> str:
    return " or ".join(f'"{word}"' for word in words)


# Answers that are merged into one text; each must settle the words that were asked about.
MAX_ANSWERS = 10
_SENTENCE = re.compile(r"[^.!?;]+[.!?;]*")
_NEGATION = re.compile(r"\b(not|never|no|without|except|but|unless)\b|n't", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Understood:
    """A goal.

    Attributes:
        left_out: sentences that were not understood and are not done.
    """

    goal: Goal
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unclear:
    """A question to the person that has no answer yet."""

    question: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A text of which nothing is done, and why; code DONE if it is true already.

    Attributes:
        question: what must be answered before anything can be done; "" = nothing.
        is_unread: whether no rule could read it, although it may be an instruction.
    """

    code: InstructionCode
    text: str
    question: str = ""
    is_unread: bool = False


Understanding = Understood | Unclear | Ended


def understand(text: str, exchanges: Sequence[Exchange], *, guesses: bool = True) -> Understanding:
    """The goal of an instruction, what has to be asked first, or why nothing is done.

    `guesses`: whether it asks if something known is meant by an unknown word.
    """
    answers = {exchange.question: exchange.answer for exchange in exchanges}
    for _ in range(MAX_ANSWERS):
        reading = interpret(text)
        like = likeness(text) if guesses and isinstance(reading, NotUnderstood) else None
        if like is not None:
            if like.question not in answers:
                return Unclear(like.question)
            if meant := like.answered(answers[like.question] or ""):
                text = meant
                continue
        if isinstance(reading, Goal):
            return Understood(reading)
        if isinstance(reading, AlreadyTrue):
            return Ended(InstructionCode.DONE, nothing_to_do(reading))
        if not isinstance(reading, Ask):
            code, sentence = refusal(reading)
            return Ended(code, sentence, is_unread=code is InstructionCode.NO_GOAL)
        asked = question(reading)
        if asked not in answers:
            return Unclear(asked)
        answer = (answers[asked] or "").strip().rstrip(".!?,; ")
        found = read_answer(text, reading, answer)
        if found.goal is not None:
            return Understood(found.goal)
        replaced = _replaced(text, reading.words, answer)
        if not answer or found.sort is AnswerSort.NO or replaced is None:
            return _clear_part(text, reading, asked, answers)
        text = replaced
    return Ended(InstructionCode.QUESTION, "nothing was done: the answers did not help")


def _clear_part(
    text: str, ask: Ask, asked: str, answers: Mapping[str, str | None]
) -> Understood | Ended:
    """The goal without the sentences that are asked about, if it does not depend on them."""
    sentences = [match.group().strip() for match in _SENTENCE.finditer(text)]
    unclear = [s for s in sentences if any(word in s for word in ask.words)]
    clear = " ".join(s for s in sentences if s not in unclear)
    reading = interpret(clear) if clear else None
    # What must not be done may be in the words that are not clear.
    if isinstance(reading, Goal) and not any(_NEGATION.search(s) for s in unclear):
        return Understood(reading, tuple(unclear))
    why = "was not understood" if answers[asked] else "did not come"
    end = f'nothing was done: the answer to "{asked}" {why}'
    return Ended(InstructionCode.QUESTION, end, asked)


def _replaced(text: str, words: Sequence[str], answer: str) -> str | None:
    """The instruction with an answer in place of the words, if that leads to another question."""
    for word in words:
        candidate = text.replace(word, answer, 1)
        if isinstance(interpret(candidate), Ask) and candidate != text:
            return candidate
    return None


# A language model reads what the rules of English do not; its goal is checked before it counts.

# Descriptions in descriptions, such as things on furniture in a room.
MAX_DEPTH = 3
# The second attempt gets the reason why the first was rejected.
MAX_ATTEMPTS = 2
_EXAMPLES = {
    "Put the two plates that are in the sink into the dishwasher, then turn it on.": """
- move: {the: plate, n: 2, in: {the: sink}}
  to: {in: {the: dishwasher, as: machine}}
- then
- {make: machine, be: powered on}
""",
    "Bringst du mir bitte eine saubere rote Tasse aus der Küche?": """
- {move: {a: cup, is: clean, color: red, in: {the: kitchen}}, to: me}
""",
    "Everything on the couch except the laptop belongs on a shelf; leave the lamps alone.": """
- {move: {all: thing, on_top: {the: couch}, except: {the: laptop}}, to: {on_top: {a: shelf}}}
- any_time
- {leave: {all: lamp}}
""",
    "How are you today?": "[]",
}


# GBNF of a goal as `written`; backquotes stand around what is said, ' there for ". What is in
# something has a number behind it, which `_deeper` counts down.
_GOAL_RULES = """
root ::= `[` (item (`,` item){0,31})? `]`
item ::= `'then'` | `'any_time'` | `{` (`'who':` who `,`)? if? request `}`
if ::= (`'only_if':` | `'unless':`) things `,`
request ::= `'move':` things (`,'to':` places)? (`,'arrangement':` arrangement)? |
 `'make':` things `,'be':` states | `'never':` things (`,'to':` places | `,'be':` states) |
 `'prepare':` occasion (`,'people':` number)? (`,'at':` in3)? | `'go':` places |
 (`'leave':` | `'find':` | `'grasp':` | `'meet':`) things | `'guide':` things `,'to':` places |
 `'follow':` things (`,'to':` places)? | `'tell':` topic (`,'of':` things)? (`,'to':` in3)?
things ::= thing3 | `[` thing3 (`,` thing3){1,9} `]`
places ::= spot | `{` relation `:` ins3 (`,` relation `:` ins3)? `}`
states ::= state | `[` state `,` state `]`
label ::= `'` [a-z] [a-z0-9_]{0,30} `'`
number ::= [1-9] [0-9]{0,2}
head ::= `'the':` kind n? | `'a':` kind (n | (`,'at_least':` | `,'at_most':`) number)? |
 (`'all':` | `'some':` | `'few':`) kind
n ::= `,'n':` number
looks ::= (`,'color':` color)? (`,'material':` material)? (`,'size':` size)?
 (`,'pick':` pick (`,'nth':` [2-9])?)? (`,'is':` states)?
name ::= `,'name':` called
wears ::= `,'wears':'` [a-z] [a-z -]{0,30} `'`
rest ::= (`,'other_than':` label)? (`,'elsewhere':true`)? (`,'each':true`)? name? wears?
 (`,'as':` label)?
"""
_DEEPER = """
thing# ::= label | `{` head looks (`,'with':` ins-)? (`,'except':` ins-)? rest
 (`,` relation `:` ins-){0,2} `}` |
 `{'one_of':[` thing- (`,` thing-){1,4} `]}`
in# ::= spot | thing# | `{'place_of':` thing- `}`
ins# ::= in# | `[` in# `,` in# `]`
"""
_DEEPEST = """
thing# ::= label | `{` head looks rest `}`
in# ::= spot | thing#
ins# ::= in#
"""
_ANY = {"kind": "`'` [a-z] [a-z -]{0,39} `'`", "called": "`'` [A-Z] [a-z]{1,30} `'`"}
_CHOICES: Mapping[str, Sequence[str]] = {
    "who": [*Actor], "arrangement": [*Arrangement], "occasion": [*Occasion], "topic": [*Topic],
    "spot": [*Spot], "relation": [*Relation], "color": [*Color], "material": [*Material],
    "size": [*Size], "pick": [*Pick],
    "state": [*default_states().by_word(), "open", "closed", *POSTURES, *GESTURES],
}  # fmt: skip


def _literal(said: re.Match[str]) -> str:
    return '"' + said[1].replace("'", '\\"') + '"'


@dataclass(frozen=True)
class GoalReply:
    """A goal in its form of files, as JSON; a `planner.models.replies.form.ReplyForm`.

    Attributes:
        kinds: of the things that it may speak of; empty = any word.
        names: of the persons; empty = any name.
    """

    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF of bounded depth; what a goal says is checked afterwards."""
        rules = _GOAL_RULES.strip().replace("\n ", " ").splitlines()
        for depth in range(MAX_DEPTH + 1):
            deeper = (_DEEPER if depth else _DEEPEST).strip().replace("\n ", " ")
            deeper = deeper.replace("#", str(depth))
            rules += re.sub(r"(?<=[a-z])-", str(depth - 1), deeper).splitlines()
        choices = {**_CHOICES, "kind": self.kinds, "called": self.names}
        for name, words in choices.items():
            said = " | ".join(f"`'{word}'`" for word in words)
            rules.append(f"{name} ::= {said or _ANY[name]}")
        return re.sub("`([^`]*)`", _literal, "\n".join(rules)) + "\n"

    def read(self, text: str, *, ended: bool) -> Goal | None:
        """The goal; None if the model says that nothing is asked for.

        Raises:
            ReplyError: naming the field.
        """
        check_length(text)
        begin = text.find("[")
        if begin < 0:
            raise ReplyError("the reply has no JSON array")
        try:
            found, _ = json.JSONDecoder().raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            raise ReplyError(f"the reply is not JSON: {error}") from None
        if not found and ended:
            return None
        try:
            return Goal.model_validate(found)
        except (ValidationError, RecursionError) as error:
            first = error.errors()[0] if isinstance(error, ValidationError) else {"msg": str(error)}
            where = ".".join(map(str, first.get("loc", ()))) or "the goal"
            raise ReplyError(f"{where}: {first['msg']}") from None


# Of the name of a model with an adapter that was trained for this: the form is in its weights.
TUNED = "+words"
_SHORT_RULES = "Instruction to goal."
NOTHING = "[]"


def short_question(text: str) -> tuple[Message, ...]:
    """What a model that was trained to read instructions is asked about one."""
    return Message(Speaker.SYSTEM, _SHORT_RULES), Message(Speaker.USER, text)


def written(goal: Goal) -> str:
    """A goal as a `GoalReply`, without blanks."""
    dumped = goal.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return json.dumps(dumped, separators=(",", ":"))


async def read_by_model(text: str, caller: Caller) -> Goal | None:
    """The goal of an instruction; None if the model finds none, or its replies are wrong.

    Raises:
        ModelError: if there is no reply.
    """
    if caller.model.name.endswith(TUNED):
        found = (await caller.ask(short_question(text), reply_about(text))).value
        return found if found is not None and accounts_for(text, found) else None
    messages: tuple[Message, ...] = (
        Message(Speaker.SYSTEM, _rules()),
        Message(Speaker.USER, f"Instruction: {text}\nGoal:"),
    )
    for cycle in range(1, MAX_ATTEMPTS + 1):
        reply = await caller.ask(messages, GoalReply(), cycle=cycle)
        if reply.error is None:
            return reply.value
        wrong = Message(Speaker.ASSISTANT, reply.completion.text[:1000])
        messages = (*messages, wrong, Message(Speaker.USER, f"Wrong: {reply.error}\nGoal:"))
    return None


def reply_about(text: str) -> GoalReply:
    """The form of a goal that speaks of what an English text may speak of."""
    source = Source(text, spelled(text), default_lexicon())
    senses = (sense for at in range(source.size) for sense in _senses(source, at))
    kinds = {sense.word for sense in senses if sense.part is Part.KIND}
    names = dict.fromkeys(re.findall(r"\b[A-Z][a-z]{1,30}\b", text))
    return GoalReply(kinds=tuple(sorted(kinds | GENERIC_KINDS | {PERSON})), names=tuple(names))


_COUNTS = {**NUMBERS, "both": 2, "pair": 2, "couple": 2}


def accounts_for(text: str, goal: Goal) -> bool:
    """Whether a goal speaks of what an English text speaks of, and of nothing else."""
    source = Source(text, spelled(text), default_lexicon())
    try:
        Accounting(source, goal, frozenset(), frozenset()).check()
    except Refused:
        return False
    said = {sense.word for at in range(source.size) for sense in _senses(source, at)}
    described = [it for it in goal.phrases() if isinstance(it, Description)]
    counts = {it.count for it in described if isinstance(it.count, int)}
    words = (word for word in source.words if word in _COUNTS or word.isdecimal())
    numbers = {_COUNTS.get(word) or int(word[:4]) for word in words}
    # "Everything" and "Jane" are no nouns.
    kinds = {it.kind for it in described} - {"thing", PERSON}
    spares = any(isinstance(it, Leave | Never) or it.unless for it in goal.requests)
    if _NEGATION.search(text) and not (spares or any(it.but for it in described)):
        return False
    return (
        kinds <= said
        and counts <= numbers | {1}
        and all(it.name in text for it in described if it.name)
    )


def _senses(source: Source, at: int) -> frozenset[Sense]:
    match = source.match(at)
    return frozenset() if match is None else match.senses


def _rules() -> str:
    examples = "\n".join(
        f"Instruction: {said}\nGoal: {json.dumps(yaml.safe_load(goal))}"
        for said, goal in _EXAMPLES.items()
    )
    return (
        "Write what a household instruction asks for as a JSON array of requests, in their order, "
        'with "then" between steps. Write [] if it asks for nothing that can be done, or if you '
        "are not sure.\n"
        f"Requests: {', '.join(REQUESTS)}. Places: {', '.join(Relation)}, or {', '.join(Spot)}.\n"
        f"Occasions of prepare: {', '.join(Occasion)}.\n"
        "Kinds are singular English nouns of household things, furniture and rooms, or "
        f"{', '.join(sorted(GENERIC_KINDS))}.\n"
        f"States: {', '.join(default_states().by_word())}, open, closed.\n{examples}"
    )
