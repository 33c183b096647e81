"""`planner layout`: checks, draws and converts a hand-annotated house; `planner spot-look`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from planner.houses.drawing import draw_floor_plan
from planner.houses.label_layout import MapFrame
from planner.houses.marks import PlanMarker, RecordedMap, draw_surveyed
from planner.houses.part import write_or_refuse
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_model
from planner.world.house import write_house
from sim_bridge.safety.options import default_safety
from sim_bridge.spot.layout import Annotated, blind_poses, check_layout, parse_layout


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="list all defects of layouts")
    check.add_argument("layouts", nargs="+", type=Path, metavar="FILE")
    house = actions.add_parser("house", help="write the house file for the nodes")
    house.add_argument("layout", type=Path, metavar="FILE")
    house.add_argument("-o", "--output", type=Path, required=True, metavar="JSON")
    draw = actions.add_parser("draw", help="draw the floor plan with the markers")
    draw.add_argument("layout", type=Path, metavar="FILE")
    draw.add_argument(
        "--graph", type=Path, metavar="FOLDER", help="a recorded map (GraphNav), drawn over it"
    )
    draw.add_argument("-o", "--output", type=Path, metavar="PNG", help="default: NAME.png")
    draw.add_argument("--scale", type=float, default=80.0, metavar="PX", help="pixels per metre")


def run(args: argparse.Namespace) -> int:
    """Runs one action and returns the exit status."""
    if args.action == "draw":
        return _draw(args)
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
    write_house(annotated.house, args.output)
    print(f"{args.output}: house {annotated.house.name}")
    return 0


def _draw(args: argparse.Namespace) -> int:
    if not 10 <= args.scale <= 400:
        raise PlannerError(f"--scale {args.scale}: from 10 to 400 pixels per metre")
    # Defects are drawn, not refused: a picture is how they are found.
    annotated = parse_layout(args.layout)
    house = annotated.house
    markers = [
        PlanMarker(marker.tag, marker.position_m[:2], marker.yaw_rad)
        for marker in annotated.fiducials
    ]
    recorded = None if args.graph is None else _recorded(args.graph, annotated)
    picture = draw_surveyed(
        draw_floor_plan(house, pixels_per_m=args.scale),
        MapFrame.of(house, args.scale),
        markers,
        recorded,
    )
    output = args.output or Path(f"{house.name}.png")
    write_or_refuse(output, lambda path: picture.save(path, format="PNG"))
    print(f"{output}: {picture.width} x {picture.height} pixels")
    return 0


def _recorded(folder: Path, annotated: Annotated) -> RecordedMap:
    """The map as the bridge would align it.

    Raises:
        FileError: if the bridge would refuse it.
        PlannerError: without the SDK.
    """
    try:
        from sim_bridge.spot.localisation import read_graph
    except ImportError as error:
        raise PlannerError(
            "--graph needs the Spot SDK: pip install -e '.[spot]' (see its licence)"
        ) from error
    found = read_graph(folder, annotated.fiducials, (), 0.0)
    return RecordedMap(
        [place.position_m[:2] for place in found.waypoints.values()],
        found.edges_m,
        {name: place.position_m[:2] for name, place in found.markers.items()},
    )


# `planner spot-look`: prints a robot's status; takes no lease and moves nothing.


def add_look_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "--settings", default="", help="settings as config/spot.yaml; default: the shipped ones"
    )


def run_look(args: argparse.Namespace) -> int:
    """Connects and prints the status; returns 0 if the robot is ready to be claimed.

    Raises:
        PlannerError: if it cannot be reached, with what to do.
    """
    try:
        from sim_bridge.spot.connection import SDK_ERRORS, advice, resolve_address
        from sim_bridge.spot.convert import read_state
        from sim_bridge.spot.link import SpotLink
        from sim_bridge.spot.options import SpotOptions, default_spot
    except ImportError as error:
        raise PlannerError(
            "this needs the Spot SDK: pip install -e '.[spot]' (see its licence)"
        ) from error
    options = read_model(Path(args.settings), SpotOptions) if args.settings else default_spot()
    where = resolve_address(options.address, options.port, options.certificate)
    link = SpotLink(where, default_safety(), time.time)
    link.connect()
    try:
        state = read_state(link.state())
        owner = link.lease_book().owner
        tags = sorted(marker.apriltag_properties.tag_id for marker, _ in link.markers())
    except SDK_ERRORS as error:
        raise PlannerError(f"spot at {where.address}:{where.port}: {advice(error)}") from error
    finally:
        link.close()
    faults = ", ".join(f"{fault.name} ({fault.cause})" for fault in state.faults)
    battery = "unknown" if state.battery is None else f"{state.battery:.0%}"
    motors = "on" if state.powered else "off" if state.off else "neither on nor off"
    seen = ", ".join(map(str, tags))
    stop = "engaged: release it where it was pressed" if state.estopped else "free"
    print(
        f"connected to {where.address}:{where.port}, its clock {link.skew_s:+.2f} s from ours\n"
        f"battery         {battery}\n"
        f"motors          {motors}\n"
        f"emergency stop  {stop}\n"
        f"lease           {f'{owner} has it; have it released there' if owner else 'free'}\n"
        f"faults          {faults or 'none'}\n"
        f"markers seen    {seen or 'none: put it where it sees one of the layout'}"
    )
    return 1 if state.estopped or owner or faults or not tags else 0
