"""A table of random cases with the outcomes that PARTNR's own code gave them.

    PLANNER_PARTNR_CODE=CHECKOUT PYTHONPATH=test/papers/partnr python -m published_table COMMIT

regenerates it from a checkout at that commit. The outcomes are data; none of that code is in it.
The first line tells its origin; each other one is a task, its worlds as sums of powers of two over
the task's atoms in hexadecimal, which propositions count after each step, the steps in which they
first did (-1 = never), and whether the published code then failed with an error.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from published_cases import Case, atoms, random_case
from published_code import VARIABLE, Outcome, PublishedCode

TABLE = Path(__file__).with_name("published_table.jsonl.gz")
CASES = 2400


def read_table() -> Iterator[tuple[Case, Outcome]]:
    """The cases with their recorded outcomes; shares of what counts are not recorded."""
    with gzip.open(TABLE, "rt", encoding="ascii") as stream:
        next(stream)
        for line in stream:
            document, masks, counted, first_steps, failed = json.loads(line)
            everything = atoms(document)
            worlds = tuple(
                frozenset(atom for i, atom in enumerate(everything) if int(mask, 16) >> i & 1)
                for mask in masks
            )
            steps = tuple(tuple(flag == "1" for flag in flags) for flags in counted)
            outcome = Outcome(steps, (), tuple(first_steps), "error" if failed else "")
            yield Case(document, worlds), outcome


def origin() -> dict[str, str]:
    """Whose outcomes they are."""
    with gzip.open(TABLE, "rt", encoding="ascii") as stream:
        return dict(json.loads(next(stream)))


def _line(case: Case, outcome: Outcome) -> list[object]:
    everything = atoms(case.document)
    masks = [f"{sum(1 << everything.index(atom) for atom in world):x}" for world in case.worlds]
    counted = ["".join("01"[flag] for flag in flags) for flags in outcome.counted]
    return [case.document, masks, counted, outcome.first_steps, int(bool(outcome.error))]


def write_table(commit: str) -> None:
    """Asks the published code about every case."""
    code = PublishedCode(Path(os.environ[VARIABLE]))
    head = {"repository": "facebookresearch/partnr-planner", "commit": commit, "license": "MIT"}
    lines: list[object] = [head]
    for seed in range(CASES):
        case = random_case(seed)
        lines.append(_line(case, code.outcome(case.document, case.worlds)))
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    TABLE.write_bytes(gzip.compress(text.encode("ascii"), mtime=0))


if __name__ == "__main__":
    write_table(sys.argv[1])
