"""How fast episodes are generated and verified on one core, and how often each type is rejected.

Each is proposed, placed, read, linted and solved by the expert, in process and without pictures.
Repeat with:

    python benchmarks/bench_generate.py [--count N] [--house HOUSE ...]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from machine import print_table

from papers.partnr.generation.generating import Order, generate
from papers.partnr.generation.things import TaskType
from planner.commands.episodes import solve_with_expert
from planner.world.house_checks import load_house

WANTED_A_MINUTE = 30


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=40, metavar="N", help="of each type")
    parser.add_argument("--house", nargs="*", default=[f"heldout_{k}" for k in range(5)])
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    houses = [load_house(name) for name in args.house]
    rows: list[tuple[str, str, str]] = []
    rejected: Counter[str] = Counter()
    for kind in TaskType:
        order = Order(houses, [kind], args.count, args.seed, solve=solve_with_expert)
        begin = time.process_time()
        made = list(generate(order))
        minutes = (time.process_time() - begin) / 60
        taken = sum(item.episode is not None for item in made)
        own = sum((item.rejected for item in made), Counter[str]())
        rejected += own
        share = taken / max(1, taken + own.total())
        rows.append((f"{kind} a minute", f"{taken / minutes:.0f}", f"at least {WANTED_A_MINUTE}"))
        rows.append(("  of all proposed taken", f"{100 * share:.0f} %", ""))
    rows += [(f"rejected: {why}", str(n), "") for why, n in rejected.most_common()]
    print_table("generated and verified, one core, processor time", rows)


if __name__ == "__main__":
    main()
