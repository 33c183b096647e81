"""`planner spot-look`: prints a robot's status; takes no lease and moves nothing."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from planner.world.errors import PlannerError
from planner.world.files import read_model
from sim_bridge.safety.options import default_safety


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "--settings", default="", help="settings as config/spot.yaml; default: the shipped ones"
    )


def run(args: argparse.Namespace) -> int:
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
