"""`planner spot-emulator`: the emulator alone, for any Spot program."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from planner.world.errors import PlannerError
from planner.world.files import parse_model, read_model
from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.faults import FaultScript, TroubleKind


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--house", default="", help="name or file; default: the first shipped")
    parser.add_argument("--episode", default="", help="name or file; default: the bare house")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--port", type=int, default=50443, help="0 takes any free one")
    parser.add_argument(
        "--certificate",
        default="spot-emulator.pem",
        help="output file for the authority's certificate",
    )
    parser.add_argument("--troubles", default="", help="fault script, see docs/spot.md")
    parser.add_argument(
        "--round-trip", type=float, default=0.0, metavar="S", help="of every connection, seconds"
    )
    parser.add_argument("--jitter", type=float, default=0.0, metavar="S", help="more each way")
    parser.add_argument(
        "--loss", type=float, default=0.0, metavar="SHARE", help="share of lost packets"
    )
    parser.add_argument(
        "--stall",
        action="append",
        default=[],
        metavar="AT:FOR",
        help="block all traffic from AT on, for this long, seconds; may be repeated",
    )
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="stop after this time; 0 = never"
    )


def run(args: argparse.Namespace) -> int:
    """Serves until it is interrupted.

    Raises:
        PlannerError: for an invalid argument, or if the SDK's messages are not installed.
    """
    try:
        from sim_bridge.spot.emulator.machine import WallClock
        from sim_bridge.spot.emulator.server import SpotEmulator
    except ImportError as error:
        raise PlannerError(
            "the emulator needs the Spot SDK: pip install -e '.[spot]' (see its licence)"
        ) from error
    house = args.house or ("" if args.episode else default_house())
    opened = open_world(house, args.episode, args.seed, 0 if args.episode else 1)
    script = script_of(args)
    try:
        emulator = SpotEmulator(WallClock(), script=script, port=args.port)
    except RuntimeError as error:
        raise PlannerError(f"--port: {args.port} cannot be used ({error})") from error
    with emulator:
        emulator.calls.keep_requests = False
        emulator.load(opened.house, opened.episode, opened.seed)
        shutil.copyfile(emulator.authority, args.certificate)
        print(
            f"A Spot in {opened.house.name} at {emulator.address}:{emulator.port}\n"
            f"export SPOT_IP={emulator.address} SPOT_PORT={emulator.port} "
            f"SPOT_CERTIFICATE={Path(args.certificate).resolve()}\n"
            f"export BOSDYN_CLIENT_USERNAME={emulator.user} "
            f"BOSDYN_CLIENT_PASSWORD={emulator.password}",
            flush=True,
        )
        _serve(emulator.advance, args.seconds)
    return 0


def script_of(args: argparse.Namespace) -> FaultScript:
    """The named fault script, with the link settings from the other arguments.

    Raises:
        PlannerError: if the file or an argument is invalid.
    """
    script = read_model(Path(args.troubles), FaultScript) if args.troubles else FaultScript()
    said = {"round_trip_s": args.round_trip, "jitter_s": args.jitter, "loss": args.loss}
    link = {**script.link.model_dump(), **{name: value for name, value in said.items() if value}}
    link["seed"] = link["seed"] or args.seed
    stalls = []
    for text in args.stall:
        at, _, seconds = text.partition(":")
        stalls.append({"kind": TroubleKind.LINK_STALL, "at_s": at, "seconds": seconds})
    troubles = [trouble.model_dump() for trouble in script.troubles]
    document = {**script.model_dump(), "link": link, "troubles": [*troubles, *stalls]}
    return parse_model(document, FaultScript, "the link's options")


def _serve(advance: Callable[[], None], seconds: float) -> None:
    ends_s = time.monotonic() + seconds if seconds > 0 else float("inf")
    while time.monotonic() < ends_s:
        time.sleep(0.05)
        advance()
