"""The statistics that PARTNR's authors give of their episodes, and the command for them."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from planner.episodes.episode_file import FindSuite, episodes_in
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Evaluation, Predicate, TieKind
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.lexicon import Part, default_lexicon
from planner.language.reading import NoCommand, tokens_of
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.vocabulary import floor_name

_PLACING = frozenset({Predicate.IS_ON_TOP, Predicate.IS_INSIDE, Predicate.IS_IN_ROOM})
# Instructions whose words without nouns differ by fewer characters count once.
MIN_EDITS = 5
_COREFERENCE = re.compile(r"\b(it|them|they|its own|the same|there|one another)\b")
_PASSIVE = re.compile(
    r"\bbe (?!on\b|off\b|in\b|clean\b)\w+(?:ed|t)\b|\b(?:put|turned|switched) (?:on|off)\."
)
_ACTIVE = re.compile(
    r"\b(?<!be )(put|place|set|move|bring|take|carry|get|grab|store|wash|clean|fill|turn|switch"
    r"|power|make sure|putting|placing|setting|moving|bringing|taking|carrying|getting|storing"
    r"|washing|cleaning|filling|turning|switching)\b"
)
_AGENT = re.compile(r"(?<!could )(?<!can )(?<!would )\byou\b(?! to\b)|\bi'll\b|\bi will\b")
_LOOKS = frozenset({Part.COLOR, Part.MATERIAL, Part.SIZE})


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tables: ours beside the paper's, as text."""

    name: str
    ours: str
    paper: str


def statistics(episodes: Sequence[Episode]) -> tuple[Row, ...]:
    """The paper's tables 4 and 5 and the figures of its text, for episodes with an evaluation."""
    judged = [
        read_evaluation(episode.evaluation, episode.episode_id)
        for episode in episodes
        if episode.evaluation is not None
    ]
    count = len(episodes)
    words = [episode.instruction for episode in episodes]
    types = Counter(kind for episode in episodes for kind in episode.task_types)
    propositions = sum(len(item.propositions) for item in judged) / max(1, len(judged))
    unique = distinct([without_nouns(text) for text in words])
    objects, furniture, rooms = _classes(episodes, judged)
    rows = [
        Row("episodes", str(count), "1000 val, 1000 test"),
        Row("houses", str(len({episode.house for episode in episodes})), "13 val, 10 test"),
        *(Row(f"type {kind}", f"{_percent(n, count)} %", "lost") for kind, n in types.items()),
        Row("propositions in a task", f"{propositions:.1f}", "4.7"),
        Row("object types in tasks", str(len(objects)), "155"),
        Row("furniture classes in tasks", str(len(furniture)), "20"),
        Row("room types in tasks", str(len(rooms)), "13"),
        Row("unique without nouns", f"{_percent(unique, count)} %", "80 % of val"),
    ]
    for name, phenomenon, paper in _PHENOMENA:
        rows.append(_share(name, [phenomenon(text) for text in words], paper))
    for name, characteristic, paper in _CHARACTERISTICS:
        rows.append(_share(name, [characteristic(item) for item in judged], paper))
    return tuple(rows)


def table(rows: Iterable[Row]) -> str:
    """The rows as text."""
    lines = [("", "HERE", "PARTNR"), *((row.name, row.ours, row.paper) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(3)]
    return "\n".join(
        f"{name:<{widths[0]}}  {ours:>{widths[1]}}  {paper:>{widths[2]}}"
        for name, ours, paper in lines
    )


def without_nouns(text: str) -> str:
    """An instruction without the catalogue's nouns, lower case."""
    return " ".join(word for word, noun in _scanned(text) if not noun)


def distinct(texts: Sequence[str]) -> int:
    """How many texts differ from all counted before them by `MIN_EDITS` characters or more."""
    kept: list[str] = []
    counts = np.zeros((len(texts), 128), dtype=np.int32)
    for text in texts:
        own = np.bincount(np.frombuffer(text.encode("ascii", "ignore"), np.uint8), minlength=128)
        # Characters that only one of two texts has bound their distance from below.
        apart = np.abs(counts[: len(kept)] - own).sum(axis=1)
        near = np.flatnonzero(apart < 2 * MIN_EDITS)
        if all(_edits(text, kept[int(k)]) >= MIN_EDITS for k in near):
            counts[len(kept)] = own
            kept.append(text)
    return len(kept)


def _edits(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def _scanned(text: str) -> list[tuple[str, bool]]:
    """Words and nouns of an instruction, and which are nouns."""
    words = [token.word for token in tokens_of(text)]
    found: list[tuple[str, bool]] = []
    at = 0
    while at < len(words):
        match = default_lexicon().at(words, at)
        noun = match is not None and any(sense.part is Part.KIND for sense in match.senses)
        length = match.length if match is not None and noun else 1
        found.append((" ".join(words[at : at + length]), noun))
        at += length
    return found


def _nouns(text: str) -> int:
    return sum(noun for _, noun in _scanned(text))


def _instances(text: str) -> int:
    words = [token.word for token in tokens_of(text)]
    matches = [default_lexicon().at(words, at) for at in range(len(words))]
    return sum(
        match is not None and any(sense.part in _LOOKS for sense in match.senses)
        for match in matches
    )


def _matches(pattern: re.Pattern[str], text: str) -> int:
    return len(pattern.findall(text.lower()))


def _high_level(text: str) -> int:
    """Sentences that say what it is about and ask for nothing."""
    first = text.split(". ")[0]
    if first == text or not isinstance(interpret(text), Goal):
        return 0
    return int(isinstance(interpret(first + "."), NoCommand))


def _subsets(evaluation: Evaluation) -> int:
    return sum(1 < item.number < len(item.lists[0]) for item in evaluation.propositions)


def _ambiguous(evaluation: Evaluation) -> int:
    return sum(any(len(names) > 1 for names in item.lists) for item in evaluation.propositions)


def _dependent(evaluation: Evaluation) -> int:
    return sum(tie.kind is TieKind.SAME and tie.members[0][1] == 1 for tie in evaluation.ties)


def _multi_step(evaluation: Evaluation) -> int:
    """Things that are placed more than once, as one step after another."""
    moves = Counter(
        names
        for item in evaluation.propositions
        if item.predicate in _PLACING
        for names in {item.lists[0]}
    )
    ordered = {i for edge in evaluation.edges for i in edge}
    again = {names for names, n in moves.items() if n > 1}
    return len({p.lists[0] for i, p in enumerate(evaluation.propositions) if i in ordered} & again)


_PHENOMENA: tuple[tuple[str, Callable[[str], int], str], ...] = (
    ("class reference", _nouns, "100 %  6.38"),
    ("instance reference", _instances, "12 %  0.14"),
    ("co-reference", partial(_matches, _COREFERENCE), "50 %  0.64"),
    ("passive voice", partial(_matches, _PASSIVE), "14 %  0.18"),
    ("active voice", partial(_matches, _ACTIVE), "92 %  2.40"),
    ("high-level goal", _high_level, "50 %  0.50"),
    ("agentic reference", partial(_matches, _AGENT), "14 %  0.16"),
)
_CHARACTERISTICS: tuple[tuple[str, Callable[[Evaluation], int], str], ...] = (
    ("subset count", _subsets, "1 %  0.01"),
    ("resolvable ambiguity", _ambiguous, "68 %  1.68"),
    ("dependent rearrange", _dependent, "7 %  0.09"),
    ("multi-step rearrange", _multi_step, "6 %  0.11"),
)


def _share(name: str, counts: Sequence[int], paper: str) -> Row:
    total = max(1, len(counts))
    share = sum(count > 0 for count in counts)
    return Row(name, f"{_percent(share, total)} %  {sum(counts) / total:.2f}", paper)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(1, whole):.0f}"


def _classes(
    episodes: Sequence[Episode], judged: Sequence[Evaluation]
) -> tuple[set[str], set[str], set[str]]:
    """Classes of what moves or changes, and of the furniture and rooms that it goes to."""
    objects = {item.name for episode in episodes for item in episode.objects}
    objects |= {item.class_name for episode in episodes for item in episode.objects}
    moved: set[str] = set()
    furniture: set[str] = set()
    rooms: set[str] = set()
    for proposition in (item for evaluation in judged for item in evaluation.propositions):
        for names in proposition.lists:
            for name in names:
                cls = name.rpartition("_")[0]
                if proposition.predicate is Predicate.IS_IN_ROOM and names is proposition.lists[1]:
                    rooms.add(cls)
                elif cls in objects:
                    moved.add(cls)
                elif not name.startswith(floor_name("")):
                    furniture.add(cls)
    return moved, furniture, rooms


# `planner episodes statistics`: a set of episodes in the figures of PARTNR's paper.


def print_statistics(args: argparse.Namespace, find: FindSuite) -> int:
    """Prints the table.

    Raises:
        PlannerError: if there is no such suite, or it has no episodes.
        FileError: for the first episode that cannot be read.
    """
    episodes: list[Episode] = []
    for _, episode in episodes_in([path for name in args.suites for path in find(name)]):
        if not isinstance(episode, Episode):
            raise episode
        episodes.append(episode)
    if not episodes:
        raise PlannerError("there are no episodes in it")
    print(table(statistics(episodes)))
    return 0
