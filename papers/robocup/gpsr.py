"""`planner bench gpsr`: how many commands of the competition's classes are read rightly."""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from papers.robocup.arena import SHIPPED, Arena, arena_of, read_arena
from papers.robocup.commands import KINDS, Command, Commands
from planner.evaluation.statistics import wilson
from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask, Reading
from planner.world.errors import PlannerError
from planner.world.house_checks import load_house

RIGHT, ASKED, REFUSED, WRONG = OUTCOMES = ("right", "asked", "refused", "wrong")


def outcome(found: Reading, command: Command) -> str:
    """What became of a command, as one of `OUTCOMES`; WRONG is another goal than the one meant."""
    if same_meaning(found, command.goal):
        return RIGHT
    if isinstance(found, Goal):
        return WRONG
    return ASKED if isinstance(found, Ask) else REFUSED


def table(counts: Mapping[str, Counter[str]]) -> str:
    """The outcomes of each class and of all, with Wilson's interval of 95 % of those right."""
    rows = [f"{'class':<16} {'n':>5} " + " ".join(f"{name:>7}" for name in OUTCOMES) + "  right"]
    for kind in (*KINDS, "all"):
        found = counts.get(kind)
        if not found:
            continue
        n = found.total()
        rate = wilson(found[RIGHT], n)
        low, high = rate.low or 0.0, rate.high or 0.0
        numbers = " ".join(f"{found[name]:>7}" for name in OUTCOMES)
        share = f"{found[RIGHT] / n:.1%} ({low:.1%} to {high:.1%})"
        rows.append(f"{kind:<16} {n:>5} {numbers}  {share}")
    return "\n".join(rows)


def counted(commands: Iterable[Command], show: Iterable[str] = ()) -> Mapping[str, Counter[str]]:
    """The outcomes by class; prints the commands with outcomes in `show` and what was read."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    shown = frozenset(show)
    for command in commands:
        found = interpret(command.text)
        became = outcome(found, command)
        counts[command.kind][became] += 1
        counts["all"][became] += 1
        if became in shown:
            print(f"{became} {command.kind}: {command.text}\n    {_written(found)}")
    return counts


def _written(found: Reading) -> str:
    return json.dumps(found.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner bench gpsr`."""
    parser.add_argument("--commands", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=0, help="of the commands")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--arena", type=Path, help="rooms, furniture, things and names (YAML)")
    where.add_argument("--house", help="name or file; instead of an arena")
    parser.add_argument("--list", action="store_true", help="only print the commands")
    parser.add_argument(
        "--show", choices=OUTCOMES, action="append", default=[], help="print these; repeatable"
    )


def _arena(args: argparse.Namespace) -> Arena:
    if not args.house:
        return read_arena(args.arena or SHIPPED)
    house = load_house(args.house)
    try:
        return arena_of(house)
    except ValueError as error:
        raise PlannerError(f"--house {args.house} is no arena: {error}") from None


def run(args: argparse.Namespace) -> int:
    """Reads the commands and prints the table."""
    if args.commands < 1:
        raise PlannerError(f"--commands {args.commands}: expected at least 1")
    drawn = Commands(_arena(args), args.seed)
    commands = [drawn.draw() for _ in range(args.commands)]
    if args.list:
        for command in commands:
            print(command.text)
        return 0
    print(table(counted(commands, args.show)))
    return 0
