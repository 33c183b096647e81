"""What kind of thing is said to a robot that has a task: stop, go on, a question, a change."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from planner.language.english import phrases, products
from planner.language.english import words as word_set
from planner.language.reading import tokens_of
from planner.language.remarks import known


class Kind(StrEnum):
    """What an utterance is, by its words alone.

    STOP: all agents stand; GO_ON: what was stopped goes on; CANCEL: the task ends; ASK: a question
    about the task; CHANGE: a correction; ADD: something more of the same task; QUEUE: a task for
    afterwards; REPLACE: one in place of this; CHAT: nothing to do; OTHER: another task, or nothing
    that is known.
    """

    STOP = "stop"
    GO_ON = "go on"
    CANCEL = "cancel"
    ASK = "ask"
    CHANGE = "change"
    ADD = "add"
    QUEUE = "queue"
    REPLACE = "replace"
    CHAT = "chat"
    OTHER = "other"


class About(StrEnum):
    """What a question about the task asks for."""

    DOING = "doing"
    HOW_LONG = "how long"
    DONE = "done"
    LEFT = "left"
    WHERE = "where"
    HOLDING = "holding"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class Utterance:
    """What somebody said.

    Attributes:
        rest: the words without those that say what kind it is.
        about: of a question.
        stops: whether the agents have to stand before the rest is read.
    """

    kind: Kind
    rest: str = ""
    about: About | None = None
    stops: bool = False

    @property
    def halts(self) -> bool:
        """Whether the agents have to stand at once."""
        return self.stops or self.kind in (Kind.STOP, Kind.CANCEL)


# Stop is stop: this is all that is read before the agents stand. docs/planning.md lists it.

STOPS = phrases(
    "stop|wait|halt|freeze|enough|pause|whoa|cease|quit|hold on|hold it|hold up|hang on|hold still"
    "|stop it|stop this|stop that|stop there|stop here|stop moving|stop everything|stop everybody"
    "|stop everyone|everybody stop|everyone stop|all stop|stop all|stop all robots|stop the robot"
    "|stop the robots|stop right there|stop working|stop what you are doing|stop doing that"
    "|stop doing this|stop at once|stop immediately|full stop|emergency stop|stand still"
    "|stay still"
    "|stay|stay there|stay where you are|stay put|do not move|do not go on|do not continue"
    "|do not do that|do not do anything|that is enough|this is enough|enough of that|it is enough"
    "|that will do|no more|wait there|wait here|wait up|wait for me|not so fast|time out"
    "|cut it out"
    "|knock it off|take a break"
) | products(
    "|wait |hold on |hang on |stop |just ", "a |one |for a |just a ", "moment|minute|second|sec"
)
GO_ONS = phrases(
    "go on|go ahead|continue|resume|carry on|proceed|keep going|move on|unpause|go|go on then"
    "|you can go on|you may go on|you can continue|you may continue|you can proceed|go on with it"
    "|go on with that|continue with it|continue with that|continue with the task"
    "|go on with the task"
    "|resume the task|carry on with it|back to work|get back to work|as you were|go again"
    "|do not stop|you can move again|you may move again|start again|keep on|keep on going"
    "|keep working|get on with it|it is fine go on|never mind go on|all clear"
)
_CANCELS = phrases(
    "cancel|cancel it|cancel that|cancel this|cancel the task|cancel everything|abort|abort it"
    "|abort that|abort the task|abort mission|never mind|never mind that|forget it|forget about it"
    "|forget that|forget the task|forget about that|forget everything|give up|give it up"
    "|drop the task"
    "|stop the task|end the task|leave it|leave that|no need|not needed any more|let it be"
)
# Words beside any of these that change nothing.
_BESIDE = word_set(
    "please now robot robots hey ok okay oh god just well um uh er hm sorry no yes alright right "
    "all spot you guys i said then thanks thank immediately instantly quickly quick at once a bit "
    "everybody everyone there so dear"
)
# The shortest word that is still meant with one letter wrong.
_MIN_TYPO = 4
_REPEATED = re.compile(r"([a-z])\1{2,}")
_CLAUSE = re.compile(r"[.,!?;:\u2026\u2013\u2014-]+\s*|\s+(?=(?:and|then|but)\s)")


@cache
def _single(table: frozenset[tuple[str, ...]]) -> frozenset[str]:
    return frozenset(words[0] for words in table if len(words) == 1 and len(words[0]) >= _MIN_TYPO)


def _is_one_off(said: str, meant: str) -> bool:
    """Whether one letter is wrong, missing or too many, or two are swapped; never the first."""
    if said[:1] != meant[:1] and said[:2] != meant[1::-1]:
        return False
    if len(said) == len(meant):
        wrong = [k for k, (a, b) in enumerate(zip(said, meant, strict=True)) if a != b]
        swapped = len(wrong) == 2 and wrong[1] == wrong[0] + 1
        return len(wrong) == 1 or (
            swapped and said[wrong[0]] == meant[wrong[1]] and said[wrong[1]] == meant[wrong[0]]
        )
    longer, shorter = sorted((said, meant), key=len, reverse=True)
    return len(longer) - len(shorter) == 1 and any(
        longer[:k] + longer[k + 1 :] == shorter for k in range(1, len(longer))
    )


def _spelled(word: str, table: frozenset[tuple[str, ...]]) -> str:
    """A word as a table has it, where it is one of its single words but for one letter."""
    singles = _single(table)
    if len(word) < _MIN_TYPO or word in singles or known(word):
        return word
    return next((meant for meant in sorted(singles) if _is_one_off(word, meant)), word)


def _words(text: str) -> tuple[str, ...]:
    """The words of a text; "stoooop" is "stop"."""
    plain = _REPEATED.sub(r"\1", text.lower())
    return tuple(token.word for token in tokens_of(plain) if token.is_word)


def _says(words: tuple[str, ...], table: frozenset[tuple[str, ...]]) -> bool:
    """Whether words are one of a table, once or more, and others that change nothing."""
    at, found = 0, False
    longest = max(map(len, table))
    while at < len(words):
        length = next(
            (n for n in range(min(longest, len(words) - at), 0, -1) if words[at : at + n] in table),
            0,
        )
        if not length and (_spelled(words[at], table),) in table:
            length = 1
        if length:
            found = True
        elif words[at] in _BESIDE:
            length = 1
        else:
            return False
        at += length
    return found


def _clauses(text: str) -> list[tuple[str, str]]:
    """Each clause of a text, and what follows it."""
    found, begin = [], 0
    for mark in _CLAUSE.finditer(text):
        found.append((text[begin : mark.start()], text[mark.end() :]))
        begin = mark.end()
    return [*found, (text[begin:], "")]


def is_stop(text: str) -> bool:
    """Whether a text says nothing but to stop, whatever else it says beside: stop is stop."""
    parts = [_words(part) for part, _ in _clauses(text)]
    kinds = [
        "stop" if _says(words, STOPS) else "go" if _says(words, GO_ONS) else "else"
        for words in parts
        if not set(words) <= _BESIDE | {"and", "but", "then"}
    ]
    whole = _says(_words(text), STOPS)
    return whole or ("stop" in kinds and "else" not in kinds)


def is_go_on(text: str) -> bool:
    """Whether a text says nothing but to go on."""
    return _says(_words(text), GO_ONS) and not is_stop(text)


# What else is said while there is a task.

_QUESTIONS: tuple[tuple[About, str], ...] = (
    (
        About.HOW_LONG,
        (
            r"how (much )?long(er)?\b.*|how much (more )?time .*|how many (more )?(minutes"
            r"|seconds|hours)"
            r"\b.*|when (will|are|do|can) (you|it|this|that|everything)\b.*(done|ready|finish"
            r"|finished|over"
            r"|through|back)|(is|will) (it|this|that) (going to )?(take|be) (long|much longer)"
            r"|what is the eta|eta|will you be long"
        ),
    ),
    (
        About.LEFT,
        (
            r"what (is|else is) (left|missing|still (open|to do|missing))( to do)?|what (do"
            r"|else do) you "
            r"(still )?(have|need) to do( still)?|what remains( to do)?|how much is left"
            r"|what comes next"
            r"|what is next|what next|what (do|will|are) you (do|doing|going to do) (next|then"
            r"|afterwards"
            r"|after that)"
        ),
    ),
    (
        About.DONE,
        (
            r"what (have|did) you (already )?(done|do|finish|finished|manage)( so far| already"
            r"| until now"
            r"| yet)?|are you (done|finished|ready|through)( yet| already| with (it|that"
            r"|everything))?"
            r"|(is|was) (it|that|everything) (done|finished|ready)( yet| already)?|how far (are"
            r"|have) you"
            r"( come| got| gotten)?( with (it|that))?|how many (are|have you) (done|did)( already"
            r"| so far)?"
            r"|have you (finished|done (it|that))( already| yet)?|did you (finish|do it"
            r"|do that)( already"
            r"| yet)?"
        ),
    ),
    (
        About.DOING,
        (
            r"what (are|r) you (doing|up to|working on|busy with|about|trying to do)\b.*"
            r"|what do you do"
            r"( now| there)?|what is (going on|happening|up|the plan|your plan|the status"
            r"|your status)( now"
            r"| here| there)?|(your )?(status|report|plan)( report)?|how is it going"
            r"|how are you (doing"
            r"|getting on)( with (it|that))?|what are you looking for|what are you after"
            r"|why are you (there"
            r"|here|waiting|standing|going|in|doing)\b.*|why (did|have) you stop(ped)?"
            r"|what is it that you "
            r"are doing|are you (still )?(working|busy|at it|there|stuck|waiting)"
            r"|where are you going( to)?"
            r"|where do you go|tell me what you are doing|say what you are doing"
        ),
    ),
    (About.WHERE, r"where are you( now| right now| exactly)?|which room are you in"),
    (
        About.HOLDING,
        (
            r"what (are you|do you) (holding|carrying|hold|carry|have)( there| now"
            r"| in your hands?)?"
            r"|what is in your hands?|is there (something|anything) in your hands?"
        ),
    ),
    (
        About.TASK,
        (
            r"what (is|was) (your|the) (task|job|order|instruction|assignment)( now)?|what (did"
            r"|do|have) "
            r"(i|we) (say|said|tell you|told you|ask|asked|ask you|want)\b.*|what (are"
            r"|were) you (told|asked"
            r"|supposed|meant)( to do)?|who (told|asked) you\b.*|what do you have to do"
        ),
    ),
)
_ASKS = tuple((about, re.compile(pattern)) for about, pattern in _QUESTIONS)
_BEFORE_QUESTION = re.compile(
    r"^((hey|robot|please|so|and|ok|okay|now|tell me|can you tell me|excuse me|sorry|well|but|say)"
    r"[ ,]+)+"
)
_CHATS = products(
    "|ok |okay |oh |very |well |no |yes ",
    "thanks|thank you|thank you very much|good|great|perfect|nice|well done|good robot|good job|ok"
    "|okay|yes|fine|alright|hello|hi|sure|i see|hurry|hurry up|faster|quick|quickly"
    "|be careful|careful"
    "|take your time|no problem|no rush|good boy|good girl|sorry|wow|cool|no worries"
    "|as soon as possible",
    "|please|robot|then|now",
)
_TASK_BEFORE = (
    "when you are done|when you are finished|when you are ready|when you have finished"
    "|when you finish"
    "|when that is done|when this is done|when it is done|once you are done|once you are finished"
    "|once you have finished|once that is done|once this is done|after that|after this|afterwards"
    "|afterward|after you are done|after you have finished|as soon as you are done|later|later on"
    "|next|then|and then|and after that|and afterwards|at the end|finally|as the next thing"
    "|after your task|after the task|and next|and later|thereafter"
)
_QUEUES = re.compile(rf"^({_TASK_BEFORE})[ ,:]+(?=\S)")
_QUEUED = re.compile(rf"[ ,]+({_TASK_BEFORE})$")
_REPLACES = re.compile(
    r"^(instead|instead of (that|this|it)|rather than (that|this)|in place of that|new task"
    r"|change of plan"
    r"|(forget|cancel|drop|abort|stop|leave|never mind|skip) (that|this|it|about (that|this"
    r"|it)|the task"
    r"|everything)( and| then)?|never mind( and)?|on second thoughts?|no instead)[ ,:;.]+(?=\S)"
)
_REPLACED = re.compile(r"[ ,]+(instead( of (that|this|it))?|rather than (that|this))$")
_ADDS = re.compile(
    r"^(and (also|please)|and|also|plus|as well as|in addition|additionally)[ ,]+(?=\S)"
)
_ADDED = re.compile(
    r"[ ,]+(too|as well|also|in addition|on top of that)([ ,]+(please|then|thanks))?$"
)
_ALSO = re.compile(r"^((?:please )?[a-z]+) also |^also ")
_STAYS = re.compile(r"\b(can|may|should|shall) (stay|remain)\b|\b(is|are) not needed\b")
_JOINED = re.compile(r"^(and|then|but)\s+", re.IGNORECASE)
_SHORT = re.compile(r"\b(you|we|they)['\u2019]re\b", re.IGNORECASE)
_CHANGES = re.compile(
    r"^(no|nope|not|never|wait|sorry|actually|rather|oops|i meant?|i said|i did not mean"
    r"|make (it|that)"
    r"|change|replace|swap|leave|do not|without|forget|skip|except|but not|only|just|hold on"
    r"|hang on"
    r"|oh|i want(ed)?|it should be|it is|the other|correction|ignore|omit|drop|wrong"
    r"|that is (wrong"
    r"|not)|that was|keep|spare)\b"
)


def utterance_of(text: str) -> Utterance:
    """What kind of thing a text is, said to a robot that has a task; the first that fits."""
    if is_stop(text):
        return Utterance(Kind.STOP)
    if is_go_on(text):
        return Utterance(Kind.GO_ON)
    words = _words(text)
    if _says(words, _CANCELS):
        return Utterance(Kind.CANCEL)
    plain = " ".join(words)
    asked = _BEFORE_QUESTION.sub("", plain)
    for about, pattern in _ASKS:
        if pattern.fullmatch(asked):
            return Utterance(Kind.ASK, about=about)
    if words in _CHATS:
        return Utterance(Kind.CHAT)
    first, rest = _clauses(text)[0]
    if rest and _says(_words(first), STOPS):
        # "Stop, put it down": they stand, and then the rest is read.
        inner = utterance_of(_JOINED.sub("", rest))
        return Utterance(inner.kind, inner.rest, inner.about, stops=True)
    return _marked(text.strip(), plain)


def _marked(text: str, plain: str) -> Utterance:
    """What words before or behind a task say of it."""
    bare = _SHORT.sub(r"\1 are", text.rstrip(" .!"))
    lower = bare.lower()
    for kind, before, behind in (
        (Kind.REPLACE, _REPLACES, _REPLACED),
        (Kind.QUEUE, _QUEUES, _QUEUED),
        (Kind.ADD, _ADDS, _ADDED),
    ):
        if found := before.match(lower):
            return Utterance(kind, bare[found.end() :].strip())
        if found := behind.search(lower):
            return Utterance(kind, bare[: found.start()].strip())
    if found := _ALSO.match(lower):
        verb = bare[: len(found.group(1))] + " " if found.group(1) else ""
        return Utterance(Kind.ADD, verb + bare[found.end() :])
    if (
        _CHANGES.match(plain)
        or _STAYS.search(plain)
        or ", not " in lower
        or " instead of " in lower
    ):
        return Utterance(Kind.CHANGE, bare)
    return Utterance(Kind.OTHER, bare)
