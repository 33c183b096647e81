"""`planner bench gpsr`: how many commands of the competition's classes are read and done."""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from papers.robocup.carrying import SET_S, SET_SIZE, Carried, End, carry_out, done_in_time
from papers.robocup.commands import KINDS, Arena, Command, Commands, arena_of, read_arena
from planner.evaluation.statistics import wilson
from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask, Reading
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_house

RIGHT, ASKED, REFUSED, WRONG = OUTCOMES = ("right", "asked", "refused", "wrong")
ENDS = (End.DONE, End.FAILED, End.REFUSED)


def outcome(found: Reading, command: Command) -> str:
    """What became of a command, as one of `OUTCOMES`; WRONG is another goal than the one meant."""
    if same_meaning(found, command.goal):
        return RIGHT
    if isinstance(found, Goal):
        return WRONG
    return ASKED if isinstance(found, Ask) else REFUSED


def table(counts: Mapping[str, Counter[str]], outcomes: Sequence[str]) -> str:
    """The outcomes of each class and of all, with Wilson's interval of 95 % of the first one."""
    rows = [f"{'class':<16} {'n':>5} " + " ".join(f"{name:>8}" for name in outcomes)]
    rows[0] += f"  {outcomes[0]}, %"
    for kind in (*KINDS, "all"):
        found = counts.get(kind)
        if not found:
            continue
        n = found.total()
        rate = wilson(found[outcomes[0]], n)
        low, high = rate.low or 0.0, rate.high or 0.0
        numbers = " ".join(f"{found[name]:>8}" for name in outcomes)
        share = f"{100 * found[outcomes[0]] / n:.1f} ({100 * low:.1f} to {100 * high:.1f})"
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


def carried(
    commands: Iterable[Command], house: House, seed: int, show: Iterable[str] = ()
) -> Mapping[str, Counter[str]]:
    """How the commands end that are carried out in a house, by class, in sets of three.

    A set is left out if the house has no room for what one of its commands speaks of.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    shown = frozenset(show)
    waiting: list[tuple[Command, Carried]] = []
    for number, command in enumerate(commands):
        found = carry_out(command, house, seed + number)
        if found.end is End.UNPLACED:
            continue
        counts[command.kind][found.end] += 1
        counts["all"][found.end] += 1
        if found.end in shown:
            print(f"{found.end} {command.kind}: {command.text}\n    {found.said}", flush=True)
        waiting.append((command, found))
    full = len(waiting) // SET_SIZE * SET_SIZE
    for first in range(0, full, SET_SIZE):
        together = [ended for _, ended in waiting[first : first + SET_SIZE]]
        counts["sets"][str(done_in_time(together))] += 1
    return counts


def sets_line(counts: Counter[str]) -> str:
    """How many commands of a set were done in time, over all sets."""
    several = (f"{counts[str(done)]} with {done}" for done in range(SET_SIZE, -1, -1))
    return f"sets of {SET_SIZE} in {SET_S / 60:g} min: {', '.join(several)} done"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner bench gpsr`."""
    parser.add_argument("--commands", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=0, help="of the commands")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--arena", type=Path, help="rooms, furniture, things and names (YAML); only to read"
    )
    where.add_argument("--house", default="heldout_0", help="name or file")
    parser.add_argument("--read-only", action="store_true", help="the commands are not carried out")
    parser.add_argument("--list", action="store_true", help="only print the commands")
    parser.add_argument(
        "--show",
        choices=[*OUTCOMES, End.FAILED],
        action="append",
        default=[],
        help="print the commands that ended so; repeatable",
    )


def _arena(args: argparse.Namespace, house: House) -> Arena:
    if args.arena:
        return read_arena(args.arena)
    try:
        return arena_of(house)
    except ValueError as error:
        raise PlannerError(f"--house {args.house} is no arena: {error}") from None


def run(args: argparse.Namespace) -> int:
    """Reads the commands, carries them out, and prints the tables."""
    if args.commands < 1:
        raise PlannerError(f"--commands {args.commands}: expected at least 1")
    house = load_house(args.house)
    drawn = Commands(_arena(args, house), args.seed)
    commands = [drawn.draw() for _ in range(args.commands)]
    if args.list:
        for command in commands:
            print(command.text)
        return 0
    print(table(counted(commands, args.show), OUTCOMES))
    if args.read_only or args.arena:
        return 0
    found = carried(commands, house, args.seed, args.show)
    print(f"\ncarried out in {house.name} by planner words\n{table(found, ENDS)}")
    print(sets_line(found.get("sets", Counter())))
    return 0
