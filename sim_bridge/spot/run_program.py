"""Runs an unmodified Spot program against the emulator: other port, other certificate authority.

A program that takes only a robot's hostname connects to port 443 and trusts the certificate that
the SDK ships. Both are arguments of the SDK (`cert_resource_glob` of `create_standard_sdk`,
`Robot.update_secure_channel_port`); this module changes their defaults, then runs the program as
Python would. Needs only the standard library and the SDK, so that it can be run by the Python
environment of the program.
"""

from __future__ import annotations

import argparse
import itertools
import os
import runpy
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def set_defaults(port: int, certificate: str) -> None:
    """Changes the SDK's default port and certificate authority."""
    from bosdyn.client.sdk import Sdk

    load: Callable[..., None] = Sdk.load_robot_cert
    create: Callable[..., Any] = Sdk.create_robot

    def load_robot_cert(sdk: Any, resource_path_glob: str | None = None) -> None:
        load(sdk, resource_path_glob or certificate)

    def create_robot(sdk: Any, address: str, *args: Any, **kwargs: Any) -> Any:
        robot = create(sdk, address, *args, **kwargs)
        robot.update_secure_channel_port(port)
        return robot

    Sdk.load_robot_cert = load_robot_cert
    Sdk.create_robot = create_robot


def click_in_windows(across: float, down: float) -> None:
    """Replaces OpenCV's windows by fakes: each is clicked at a fraction of its picture.

    Whenever the program polls for keys there is a click, alternately there and at the opposite
    point of the picture; keys are never pressed.
    """
    import cv2

    callbacks: dict[str, Callable[..., None]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    sides = itertools.cycle((across, 1.0 - across))

    def nothing(*_window: Any) -> None:
        """There is no window."""

    def show(title: str, picture: Any) -> None:
        sizes[title] = (picture.shape[1], picture.shape[0])

    def listen(title: str, callback: Callable[..., None], param: Any = None) -> None:
        callbacks[title] = lambda *event: callback(*event, param)

    def wait_key(_delay_ms: int = 0) -> int:
        for title, callback in list(callbacks.items()):
            if title in sizes:
                width, height = sizes[title]
                x, y = int(next(sides) * width), int(down * height)
                for event in (cv2.EVENT_MOUSEMOVE, cv2.EVENT_LBUTTONDOWN, cv2.EVENT_LBUTTONUP):
                    callback(event, x, y, 0)
        time.sleep(0.05)
        return -1

    gone = ("namedWindow", "destroyAllWindows", "destroyWindow", "moveWindow", "resizeWindow")
    instead = {"imshow": show, "setMouseCallback": listen, "waitKey": wait_key}
    for name, stand_in in {**dict.fromkeys(gone, nothing), **instead}.items():
        setattr(cv2, name, stand_in)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--port", type=int, default=int(os.environ.get("SPOT_PORT", "50443")))
    parser.add_argument(
        "--certificate",
        default=os.environ.get("SPOT_CERTIFICATE", "spot-emulator.pem"),
        help="of the emulator's authority; default: SPOT_CERTIFICATE",
    )
    parser.add_argument(
        "--click",
        type=float,
        nargs=2,
        metavar=("ACROSS", "DOWN"),
        help="no OpenCV windows; click each at these shares of its picture",
    )
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own")


def run(args: argparse.Namespace) -> int:
    """Runs the program in this process; its exit status is the process's."""
    try:
        set_defaults(args.port, args.certificate)
    except ImportError:
        print(
            "this needs the Spot SDK: pip install -e '.[spot]' (see its licence)", file=sys.stderr
        )
        return 2
    if args.click is not None:
        click_in_windows(*args.click)
    sys.argv = [args.program, *args.arguments]
    sys.path.insert(0, str(Path(args.program).resolve().parent))
    runpy.run_path(args.program, run_name="__main__")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The same without `planner`, for a Python that lacks it."""
    parser = argparse.ArgumentParser(description="a Spot program against the emulator")
    add_arguments(parser)
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    # The program must not import from this file's folder.
    sys.path.pop(0)
    sys.exit(main())
