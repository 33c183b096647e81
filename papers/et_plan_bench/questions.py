"""The questions of `et_agent` with their answers, from runs, for fine-tuning."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from random import Random

from papers.et_plan_bench.parts import TaskClass
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.models.chat import Fault, ReferenceReply, Role
from planner.models.gbnf import quoted
from planner.models.recorded import Turn, dialogue_path, read_dialogue
from planner.models.replies.form import ReplyError, check_length
from planner.planning.errands import Errand, Sought, Where
from planner.world.errors import PlannerError
from planner.world.files import writing

PLANNER = "et_agent"
MANIFEST = "manifest.json"
SHARD_SIZE = 1000
KINDS = {
    Role.CLASSIFIER: "classification",
    Role.DECOMPOSER: "decomposition",
    Role.RANKER: "room ranking",
    Role.PROPOSER: "furniture candidates",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer.

    Attributes:
        kind: one of the values of `KINDS`.
        house, episode: where it was asked.
        messages: the prompt, as (role, text).
        answer: the text of the reply.
    """

    kind: str
    house: str
    episode: str
    messages: tuple[tuple[str, str], ...]
    answer: str

    @property
    def line(self) -> str:
        """As a line of JSON in chat form."""
        turns = [{"role": role, "content": text} for role, text in self.messages]
        turns.append({"role": "assistant", "content": self.answer})
        record = {
            "messages": turns,
            "kind": self.kind,
            "house": self.house,
            "episode": self.episode,
        }
        return json.dumps(record, ensure_ascii=False)


@dataclass(slots=True)
class Gathered:
    """The questions of a run, and what was left out.

    Attributes:
        questions: each once, in the order in which they were asked.
        left_out: number of episodes or answers by reason.
    """

    questions: list[Question] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class QuestionCounts:
    """How many questions there are of each kind."""

    kinds: dict[str, int]

    @classmethod
    def of(cls, gathered: Gathered) -> QuestionCounts:
        """Counts them."""
        found = Counter(question.kind for question in gathered.questions)
        return cls(dict(sorted(found.items())))

    def __str__(self) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())


def questions_of(run: Path) -> Gathered:
    """The questions of a run's episodes that met their criteria.

    Raises:
        PlannerError: if the run is of another planner.
        FileError: for a file of the run that cannot be read.
    """
    found, seen = Gathered(), set[str]()
    for row in newest_rows(run / ROWS_NAME).values():
        if row.planner != PLANNER:
            raise PlannerError(f"{run}: is a run of {row.planner}, not of {PLANNER}")
        if row.verdict is None or not row.verdict.success:
            found.left_out["episodes that failed"] += 1
            continue
        for turn in read_dialogue(dialogue_path(run, row.trace)).turns:
            question = _question(turn, row.house, row.episode_id)
            if question is None:
                found.left_out["answers that were refused"] += 1
            elif question.line in seen:
                found.left_out["questions asked twice"] += 1
            else:
                seen.add(question.line)
                found.questions.append(question)
    return found


def _question(turn: Turn, house: str, episode: str) -> Question | None:
    line = turn.line
    if not line.is_answered or line.error or line.role not in KINDS:
        return None
    messages = tuple((message.speaker.value, message.text) for message in turn.messages)
    return Question(KINDS[line.role], house, episode, messages, line.reply)


def write_questions(folder: Path, gathered: Gathered, about: Mapping[str, object]) -> list[Path]:
    """Writes shards and their manifest; whatever was there before is replaced as a whole.

    Args:
        folder: of the shards.
        gathered: what to write.
        about: how they were made, for the manifest.

    Returns:
        The shards.

    Raises:
        PlannerError: if there is nothing to write.
        FileError: if it cannot be written.
    """
    if not gathered.questions:
        reasons = ", ".join(f"{count} {why}" for why, count in gathered.left_out.items())
        raise PlannerError(f"there is no question to learn from ({reasons or 'no episodes'})")
    aside = folder.with_name(folder.name + ".part")
    with writing(folder):
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        shards = [
            _shard(aside, number, gathered.questions[at : at + SHARD_SIZE])
            for number, at in enumerate(range(0, len(gathered.questions), SHARD_SIZE))
        ]
        manifest = {
            **about,
            "questions": len(gathered.questions),
            "kinds": QuestionCounts.of(gathered).kinds,
            "left_out": dict(gathered.left_out),
            "houses": sorted({question.house for question in gathered.questions}),
            "shards": [{"file": name, "sha256": digest} for name, digest in shards],
        }
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        (aside / MANIFEST).write_text(text, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)
    return [folder / name for name, _ in shards]


def _shard(folder: Path, number: int, questions: Sequence[Question]) -> tuple[str, str]:
    name = f"questions_{number:04d}.jsonl"
    body = _lines(questions).encode()
    (folder / name).write_bytes(body)
    return name, hashlib.sha256(body).hexdigest()


def _lines(questions: Iterable[Question]) -> str:
    return "".join(question.line + "\n" for question in questions)


# The forms of the model's replies, and what a flawless model would reply.

_LIST = re.compile(r"\[[^\[\]]*\]")
_NONE = "none"
# A rule of its own: llama.cpp multiplies bounds in each other to 2,000 at most.
_THOUGHTS = 'thoughts ::= thought{0,8}\nthought ::= [^\\n]{1,400} "\\n"\n'
MAX_ERRANDS = 4


def _reply_lines(text: str) -> list[str]:
    check_length(text)
    return [line.strip() for line in text.splitlines() if line.strip()]


def _bare(text: str) -> str:
    return text.strip().strip("`'\"*.").strip().casefold()


@dataclass(frozen=True)
class ClassReply:
    """A class of tasks, alone on the last line; a `planner.models.replies.form.ReplyForm`."""

    max_tokens: int = 256
    stop: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF: reasoning, then a class."""
        names = " | ".join(quoted(each.value) for each in TaskClass)
        return f"root ::= thoughts ({names})\n{_THOUGHTS}"

    def read(self, text: str, *, ended: bool) -> TaskClass:  # noqa: ARG002 - one line is enough
        """The class on the last line, which has to be there as a whole.

        Raises:
            ReplyError: if it is none.
        """
        last = _bare((_reply_lines(text) or [""])[-1])
        found = next((each for each in TaskClass if each.value == last), None)
        if found is None:
            raise ReplyError(f"the last line is not a class: {last[:80]!r}")
        return found


@dataclass(frozen=True)
class NamesReply:
    """A list of offered names, as Python writes it; a `planner.models.replies.form.ReplyForm`.

    Names that were not offered are dropped, repeated ones too.

    Attributes:
        offered: the possible names.
        complete: whether all of them belong to the reply: missing ones follow in their own order.
            Otherwise `None` is the empty list.
        thinks: whether the grammar allows reasoning before the list.
    """

    offered: tuple[str, ...]
    complete: bool = False
    thinks: bool = False
    max_tokens: int = 512
    stop: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF of a list of offered names."""
        names = " | ".join(f'"\'" {quoted(name)} "\'"' for name in self.offered)
        count = len(self.offered)
        least = count - 1 if self.complete else 0
        items = f'"[" name (", " name){{{least},{max(count - 1, 1)}}} "]"' if names else '"[]"'
        root = items if self.complete else f'{items} | "None"'
        head = "thoughts " if self.thinks else ""
        rule = f"name ::= {names}\n" if names else ""
        return f"root ::= {head}({root})\n{rule}{_THOUGHTS if self.thinks else ''}"

    def read(self, text: str, *, ended: bool) -> tuple[str, ...]:  # noqa: ARG002 - brackets tell
        """The names in their order.

        Raises:
            ReplyError: if there is neither a list nor `None` at the end.
        """
        lines = _reply_lines(text)
        if not self.complete and lines and _bare(lines[-1]) in (_NONE, f"[{_NONE}]"):
            return ()
        named = _named(lines)
        if named is None:
            raise ReplyError("there is no list in square brackets")
        usual = {name.casefold(): name for name in self.offered}
        kept = [usual[word] for each in named if (word := each.strip().casefold()) in usual]
        rest = self.offered if self.complete else ()
        return tuple(dict.fromkeys((*kept, *rest)))


def _named(lines: Sequence[str]) -> list[str] | None:
    """The items of the last list, on a line or over several; None if there is none."""
    found = _LIST.findall(" ".join(lines))
    if not found:
        return None
    try:
        value = ast.literal_eval(found[-1])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        # Some models leave the quotation marks out.
        value = [_bare(item) for item in found[-1][1:-1].split(",")]
    return [item for item in value if isinstance(item, str)]


@dataclass(frozen=True)
class ErrandsReply:
    """The parts of a task, one a line; a `planner.models.replies.form.ReplyForm`.

    `find: apple, inside fridge` or `move: apple, close to cup -> inside fridge, inside kitchen`:
    each relation is about the word before it; `-> at` leaves open how something is put.
    """

    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    grammar: str = field(
        default=(
            f'root ::= line ("\\n" line){{0,{MAX_ERRANDS - 1}}}\n'
            'line ::= "find: " thing | "move: " thing " -> " goal\n'
            'thing ::= word (", " relation " " word){0,3}\n'
            'goal ::= ("inside " | "on " | "at ") thing\n'
            'relation ::= "inside" | "on" | "close to" | "facing"\n'
            "word ::= [a-z] [a-z0-9 _-]{0,40}\n"
        ),
        init=False,
    )

    def read(self, text: str, *, ended: bool) -> tuple[Errand, ...]:
        """The parts.

        Raises:
            ReplyError: if a line is none, or there are too many or none.
        """
        lines = _reply_lines(text if ended else text.rpartition("\n")[0])
        asked = [line for line in lines if line.casefold().startswith(("find:", "move:"))]
        if not 1 <= len(asked) <= MAX_ERRANDS:
            raise ReplyError(f"expected 1 to {MAX_ERRANDS} lines `find:` or `move:`")
        return tuple(_errand(line.casefold()) for line in asked)


def errands_text(errands: Iterable[Errand]) -> str:
    """Parts of a task as a reply writes them."""
    return "\n".join(
        f"find: {_written(errand.target)}"
        if errand.place is None
        else f"move: {_written(errand.target)} -> {errand.where or 'at'} {_written(errand.place)}"
        for errand in errands
    )


def _written(sought: Sought) -> str:
    if sought.where is None or sought.anchor is None:
        return sought.word
    return f"{sought.word}, {sought.where} {_written(sought.anchor)}"


def _errand(line: str) -> Errand:
    kind, _, rest = line.partition(":")
    what, arrow, goal = rest.partition("->")
    if (kind == "move") != bool(arrow):
        raise ReplyError(f"expected `find: THING` or `move: THING -> PLACE`, got {line[:80]!r}")
    if not arrow:
        return Errand(_sought(what.split(",")))
    how, _, place = goal.strip().partition(" ")
    where = {"inside": Where.INSIDE, "on": Where.ON, "at": None}
    if how not in where or not place:
        raise ReplyError(f"expected `-> inside`, `-> on` or `-> at` and a place: {line[:80]!r}")
    return Errand(_sought(what.split(",")), where[how], _sought(place.split(",")))


def _sought(parts: Sequence[str]) -> Sought:
    first, *rest = (part.strip() for part in parts)
    related = next(
        ((where, first.removeprefix(where)) for where in Where if first.startswith(f"{where} ")),
        None,
    )
    if not first or related is not None:
        raise ReplyError(f"expected the word for a thing, got {first[:40]!r}")
    if not rest:
        return Sought(first)
    for where in Where:
        if rest[0].startswith(f"{where} "):
            return Sought(first, where, _sought([rest[0].removeprefix(where), *rest[1:]]))
    raise ReplyError(f"expected a relation such as `inside fridge`, got {rest[0][:40]!r}")


# What a flawless model would reply to the agent's questions, and the same with one fault.
#
# Right is what the rules of reading and the frequency table say: nothing here reads a goal.

INVENTED = "phlogiston"


def right_word(right: TaskClass, classes: Sequence[str], random: Random) -> ReferenceReply:
    """A class, or another one."""
    others = [each for each in classes if each != right.value]
    return ReferenceReply(
        right.value,
        {
            Fault.WRONG_ENTITY: random.choice(others),
            Fault.INVENTED_ENTITY: f"{INVENTED} {right.value}",
        },
    )


def right_names(right: Sequence[str], offered: Sequence[str], random: Random) -> ReferenceReply:
    """Names in their order; faulty ones lack the first, repeat one, or begin with a wrong one."""
    names = list(right)
    faulty: dict[Fault, list[str]] = {Fault.INVENTED_ENTITY: [INVENTED, *names]}
    wrong = [name for name in offered if name not in names[:1]]
    if wrong:
        first = random.choice(wrong)
        faulty[Fault.WRONG_ENTITY] = [first, *(name for name in names if name != first)]
    if names:
        faulty[Fault.SKIPPED_STEP] = names[1:]
        faulty[Fault.REPEATED_STEP] = [*names, random.choice(names)]
        faulty[Fault.EARLY_DONE] = []
    return ReferenceReply(_text(names), {fault: _text(each) for fault, each in faulty.items()})


def right_errands(right: Sequence[Errand], random: Random) -> ReferenceReply:
    """The parts of a task; faulty ones lack one, repeat one, or are about something else."""
    errands = list(right)
    if not errands:
        return ReferenceReply("")
    index = random.randrange(len(errands))
    one = errands[index]
    changed = {
        Fault.INVENTED_ENTITY: replace(one, target=Sought(INVENTED)),
        Fault.WRONG_ENTITY: replace(one, target=one.place or one.target.anchor or Sought("chair")),
    }
    faulty = {
        fault: [*errands[:index], other, *errands[index + 1 :]] for fault, other in changed.items()
    }
    faulty[Fault.REPEATED_STEP] = [*errands, one]
    if len(errands) > 1:
        faulty[Fault.SKIPPED_STEP] = [*errands[:index], *errands[index + 1 :]]
    texts = {fault: errands_text(each) for fault, each in faulty.items()}
    return ReferenceReply(errands_text(errands), texts)


def _text(names: Sequence[str]) -> str:
    return repr(list(names)) if names else "None"
