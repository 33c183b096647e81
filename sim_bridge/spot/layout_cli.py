"""`planner layout`: checks a hand-annotated house, and converts it to a house file."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.world.errors import FileError, PlannerError
from planner.world.house import write_house
from sim_bridge.spot.layout import Annotated, blind_poses, check_layout, parse_layout


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="list all defects of layouts")
    check.add_argument("layouts", nargs="+", type=Path, metavar="FILE")
    house = actions.add_parser("house", help="write the house file for the nodes")
    house.add_argument("layout", type=Path, metavar="FILE")
    house.add_argument("-o", "--output", type=Path, required=True, metavar="JSON")


def run(args: argparse.Namespace) -> int:
    """Runs one action and returns the exit status."""
    return _house(args) if args.action == "house" else _check(args.layouts)


def _check(paths: list[Path]) -> int:
    wrong = False
    for path in paths:
        try:
            annotated = parse_layout(path)
        except FileError as error:
            print(error)
            wrong = True
            continue
        findings = check_layout(annotated)
        for finding in findings:
            print(f"{path}: {finding}")
        if not findings:
            _print_summary(path, annotated)
        wrong = wrong or bool(findings)
    return 1 if wrong else 0


def _print_summary(path: Path, annotated: Annotated) -> None:
    house, poses = annotated.house, sum(map(len, annotated.poses.values()))
    print(
        f"{path}: sound, {len(house.rooms)} rooms, {len(house.furniture)} pieces of furniture, "
        f"{poses} poses that can be reached, {len(annotated.fiducials)} markers"
    )
    without = [name for name, found in annotated.poses.items() if not found]
    if without:
        print(f"  without a pose, so the robot chooses where to stand: {', '.join(without)}")
    blind = blind_poses(annotated)
    if blind:
        print(f"  no marker near, so odometry alone is trusted there: {', '.join(blind)}")


def _house(args: argparse.Namespace) -> int:
    annotated = parse_layout(args.layout)
    for finding in check_layout(annotated):
        raise FileError(args.layout, finding.field, finding.reason)
    try:
        write_house(annotated.house, args.output)
    except OSError as error:
        raise PlannerError(f"--output: {args.output} cannot be written: {error.strerror}") from None
    print(f"{args.output}: house {annotated.house.name}")
    return 0
