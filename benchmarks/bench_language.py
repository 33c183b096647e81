"""Reading the annotated everyday instructions: how many are right, by category, and CPU time.

Repeat with: python benchmarks/bench_language.py [FILE] [--show right|asked|wrong] [--repeats N]
With --partnr FOLDER, how many of PARTNR's instructions have a goal instead.
With --sentences FILE ..., what becomes of sentences by others: a sentence a line, or JSON lines of
`{"text": ..., "goal": [...]}`, which are graded as well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from machine import print_table

from papers.partnr.episodes.importing import import_instructions
from planner.language.equivalence import Grade, grade, same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret, interpret_all
from planner.language.questions import asks
from planner.language.reading import (
    Ask,
    AskReason,
    NotUnderstood,
    Reading,
    read_instructions,
)
from planner.models.caller import Caller
from planner.models.chat import Role
from planner.models.model_choice import ModelChoice, open_model
from planner.planning.understanding import (
    Ended,
    Unclear,
    Understanding,
    Understood,
    read_by_model,
    understand,
)
from planner.world.errors import FileError

GOAL, ANSWER, QUESTION, REFUSAL = OUTCOMES = ("goal", "answer", "question", "refusal")
KNOWN = Path(__file__).parents[1] / "test" / "data" / "everyday" / "known.yaml"


def sixty_words() -> str:
    return (
        "Tonight is game night, so could you first carry the board game and the playing cards from "
        "the playroom to the dining table, next bring four glasses and the juice from the kitchen "
        "and put them there as well, and then, at the very end, please switch off the television "
        "and all of the lamps in the living room and close the fridge?"
    )


def time_ms(text: str, repeats: int) -> float:
    interpret(text)
    begin = time.process_time()
    for _ in range(repeats):
        interpret(text)
    return 1000 * (time.process_time() - begin) / repeats


def print_partnr(folder: Path) -> None:
    """Of the instructions whose initial state can be placed: read into a goal, and derived."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for episode in import_instructions(sorted(folder.glob("*.json")), seed=0).episodes:
        for name in (episode.source.file if episode.source else "", "all"):
            counts[name]["placed"] += 1
            counts[name]["read"] += isinstance(interpret(episode.instruction), Goal)
            counts[name]["derived"] += episode.evaluation is not None
    rows = [
        (
            name,
            f"{found['placed']} placed, {found['read']} read, {found['derived']} derived",
            f"{found['derived'] / found['placed']:.1%}",
        )
        for name, found in counts.items()
    ]
    print_table("PARTNR's instructions", rows)


@dataclass(frozen=True)
class Sentence:
    """Something that somebody said; `meant` is what is meant by it, None if nobody wrote that."""

    text: str
    meant: Reading | None = None


def read_sentences(path: Path) -> list[Sentence]:
    """The sentences of a file.

    Raises:
        FileError: with file, line and reason.
    """
    if path.suffix == ".yaml":
        return [Sentence(entry.text, entry.reading) for entry in read_instructions(path)]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    found: list[Sentence] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not line.lstrip().startswith("{"):
            found.append(Sentence(line.strip()))
            continue
        try:
            entry = json.loads(line)
            meant = Goal.model_validate(entry["goal"]) if "goal" in entry else None
            found.append(Sentence(str(entry["text"]), meant))
        except (ValueError, KeyError) as error:
            raise FileError(path, f"line {number}", f"{type(error).__name__}: {error}") from None
    return found


def outcome(text: str, found: Understanding) -> str:
    if isinstance(found, Understood):
        return GOAL
    if isinstance(found, Ended) and asks(text):
        return ANSWER
    return QUESTION if isinstance(found, Unclear) else REFUSAL


def by_model(sentences: list[Sentence], args: argparse.Namespace) -> list[Goal | None]:
    """What a language model makes of each sentence."""
    options = {"adapter": str(args.adapter)} if args.adapter else {}
    model = open_model(ModelChoice(args.model, args.model_url, options))
    caller = Caller("sentences", model, Role.PLANNER)

    async def read() -> list[Goal | None]:
        return [await read_by_model(sentence.text, caller) for sentence in sentences]

    return asyncio.run(read())


def combined(text: str, rules: Reading, model: Goal | None) -> dict[str, Reading]:
    """What rules and a model make of a text together; where they differ, it is asked."""
    unsure = Ask(words=(text,), reason=AskReason.DONE)
    none = rules if not isinstance(rules, Goal) else unsure
    agreed = model is not None and same_meaning(rules, model)
    refused = model if model is not None and isinstance(rules, NotUnderstood) else rules
    return {
        "rules": rules,
        "model": model or none,
        "rules, model where they refuse": refused,
        "rules, model where they refuse or ask": model if model and none is rules else rules,
        "rules, model as a check": rules if agreed else none,
        "rules, asked where the model differs": none if model and not agreed else rules,
        "model, rules as a check": (model or none) if agreed or none is rules else unsure,
    }


def print_sentences(args: argparse.Namespace) -> None:
    """Per file: how many have a goal, a question or a refusal, and the words outside of goals."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in args.sentences:
        sentences = read_sentences(path)
        models = by_model(sentences, args) if args.model else [None] * len(sentences)
        for sentence, modelled in zip(sentences, models, strict=True):
            reading, outside = interpret_all(sentence.text)
            understood = understand(sentence.text, ())
            found = outcome(sentence.text, understood)
            ways = combined(sentence.text, reading, modelled) if args.model else {"rules": reading}
            for name in (path.stem, "all"):
                counts[name]["n"] += 1
                counts[name][found] += 1
                for way, read in ways.items():
                    graded = "goal" if isinstance(read, Goal) else "no goal"
                    if sentence.meant is not None:
                        graded = str(grade(read, sentence.meant))
                    counts[f"{name}: {way}"][graded] += 1
            if found in (args.show or ()):
                print(f"{found} {path.stem}: {sentence.text}")
                print(f"    {understood.question if found == QUESTION else dumped(reading)}")
                if modelled is not None:
                    print(f"    model: {dumped(modelled)}")
                if outside:
                    print(f"    outside: {' | '.join(outside)}")
    rows = [
        (
            f"{name} ({found.pop('n', found.total())})",
            ", ".join(f"{number} {what}" for what, number in found.items()),
            f"{found[GOAL] / found.total():.0%}" if found[GOAL] else "",
        )
        for name, found in counts.items()
    ]
    print_table("sentences: outcomes, and the share with a goal", rows)


def dumped(reading: Reading) -> str:
    return json.dumps(reading.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=KNOWN)
    shown = [*(grade.value for grade in Grade), *OUTCOMES]
    parser.add_argument("--show", choices=shown, action="append")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--partnr", type=Path, metavar="FOLDER", help="of instruction files")
    parser.add_argument("--sentences", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--model", default="", help="reads the sentences as well, and alone")
    parser.add_argument("--adapter", type=Path, help="of the model")
    parser.add_argument("--model-url", default="", help="address of its server, .../v1")
    args = parser.parse_args()
    if args.sentences is not None:
        print_sentences(args)
        return
    if args.partnr is not None:
        print_partnr(args.partnr)
        return
    entries = read_instructions(args.file)
    counts: defaultdict[str, Counter[Grade]] = defaultdict(Counter)
    for entry in entries:
        found = interpret(entry.text)
        graded = grade(found, entry.reading)
        counts[entry.category][graded] += 1
        counts["all"][graded] += 1
        if graded in (args.show or ()):
            print(f"{graded} {entry.category}: {entry.text}\n    {dumped(found)}")
    rows = [
        (category, ", ".join(f"{found[grade]} {grade}" for grade in Grade), "")
        for category, found in counts.items()
    ]
    begin = time.process_time()
    for entry in entries:
        interpret(entry.text)
    mean_ms = 1000 * (time.process_time() - begin) / len(entries)
    text = sixty_words()
    rows += [
        (f"mean of {len(entries)}", f"{mean_ms:.2f} ms", ""),
        (f"{len(text.split())} words", f"{time_ms(text, args.repeats):.2f} ms", "under 5 ms"),
    ]
    print_table("Everyday instructions", rows)


if __name__ == "__main__":
    main()
