"""Reading the annotated everyday instructions: how many are right, by category, and CPU time.

Repeat with: python benchmarks/bench_language.py [FILE] [--show right|asked|wrong] [--repeats N]
With --alone, by the grammar without the second reading. With --partnr FOLDER, how many of PARTNR's
instructions have a goal instead; with --mutations, how many mistakes in right goals the second
reading notices.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from goal_mutations import mutated
from machine import print_table

from planner.episodes.partnr.importing import import_instructions
from planner.language.cross_reading.contradictions import contradictions
from planner.language.equivalence import Grade, grade
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret, interpret_alone, spelled
from planner.language.reading import AnnotatedInstruction, Reading, read_instructions

KNOWN = Path(__file__).parents[1] / "test" / "data" / "everyday" / "known.yaml"


def sixty_words() -> str:
    return (
        "Tonight is game night, so could you first carry the board game and the playing cards from "
        "the playroom to the dining table, next bring four glasses and the juice from the kitchen "
        "and put them there as well, and then, at the very end, please switch off the television "
        "and all of the lamps in the living room and close the fridge?"
    )


def time_ms(read: Callable[[str], Reading], text: str, repeats: int) -> float:
    read(text)
    begin = time.process_time()
    for _ in range(repeats):
        read(text)
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


def print_mutations(entries: Sequence[AnnotatedInstruction]) -> None:
    """Of goals with one mistake, those that the second reading contradicts; and of right ones."""
    noticed: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for entry in entries:
        if entry.goal is None:
            continue
        tokens = spelled(entry.text)
        made["none (a question too many)"] += 1
        noticed["none (a question too many)"] += bool(
            contradictions(entry.text, entry.goal, tokens)
        )
        for name, goal in mutated(entry.goal):
            made[name] += 1
            noticed[name] += bool(contradictions(entry.text, goal, tokens))
    rows = [(name, f"{noticed[name]} of {n} noticed", f"{noticed[name] / n:.1%}")
            for name, n in made.items()]  # fmt: skip
    print_table("Goals with one mistake each", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=KNOWN)
    parser.add_argument("--show", choices=[grade.value for grade in Grade], action="append")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--alone", action="store_true", help="without the second reading")
    parser.add_argument("--mutations", action="store_true", help="check goals with a mistake each")
    parser.add_argument("--partnr", type=Path, metavar="FOLDER", help="of instruction files")
    args = parser.parse_args()
    if args.partnr is not None:
        print_partnr(args.partnr)
        return
    entries = read_instructions(args.file)
    if args.mutations:
        print_mutations(entries)
        return
    read = interpret_alone if args.alone else interpret
    counts: defaultdict[str, Counter[Grade]] = defaultdict(Counter)
    for entry in entries:
        found = read(entry.text)
        graded = grade(found, entry.reading)
        counts[entry.category][graded] += 1
        counts["all"][graded] += 1
        if graded in (args.show or ()):
            dumped = found.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            print(f"{graded} {entry.category}: {entry.text}\n    {dumped}")
    rows = [
        (category, ", ".join(f"{found[grade]} {grade}" for grade in Grade), "")
        for category, found in counts.items()
    ]
    begin = time.process_time()
    for entry in entries:
        read(entry.text)
    mean_ms = 1000 * (time.process_time() - begin) / len(entries)
    text = sixty_words()
    rows += [
        (f"mean of {len(entries)}", f"{mean_ms:.2f} ms", ""),
        (f"{len(text.split())} words", f"{time_ms(read, text, args.repeats):.2f} ms", "under 5 ms"),
    ]
    print_table("Everyday instructions", rows)


if __name__ == "__main__":
    main()
