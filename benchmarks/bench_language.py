"""Reading the annotated everyday instructions: how many are right, by category, and CPU time.

Repeat with: python benchmarks/bench_language.py [FILE] [--show right|asked|wrong] [--repeats N]
With --partnr FOLDER, how many of PARTNR's instructions have a goal instead.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from pathlib import Path

from machine import print_table

from papers.partnr.episodes.importing import import_instructions
from planner.language.equivalence import Grade, grade
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import read_instructions

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=KNOWN)
    parser.add_argument("--show", choices=[grade.value for grade in Grade], action="append")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--partnr", type=Path, metavar="FOLDER", help="of instruction files")
    args = parser.parse_args()
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
            dumped = found.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            print(f"{graded} {entry.category}: {entry.text}\n    {dumped}")
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
