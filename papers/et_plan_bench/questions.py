"""The questions of `et_agent` with their answers, from runs, for fine-tuning."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.models.chat import Role
from planner.models.recorded import Turn, dialogue_path, read_dialogue
from planner.world.errors import FileError, PlannerError

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
    try:
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
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error.strerror}") from None
    return [folder / name for name, _ in shards]


def _shard(folder: Path, number: int, questions: Sequence[Question]) -> tuple[str, str]:
    name = f"questions_{number:04d}.jsonl"
    body = _lines(questions).encode()
    (folder / name).write_bytes(body)
    return name, hashlib.sha256(body).hexdigest()


def _lines(questions: Iterable[Question]) -> str:
    return "".join(question.line + "\n" for question in questions)
