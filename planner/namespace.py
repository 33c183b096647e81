"""The ROS namespace of a stack, as users write it: `--namespace left`, `namespace:=/house/left`."""

from __future__ import annotations

import argparse
import re

from planner.world.errors import PlannerError

_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_NAMESPACE = re.compile(rf"/?{_WORD}(/{_WORD})*/?")


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--namespace` for a command that talks to a running stack."""
    parser.add_argument(
        "--namespace",
        default="/",
        metavar="NAME",
        type=_checked,
        help="ROS namespace of the stack, as given to planner up; default none",
    )


def full_namespace(text: str) -> str:
    """Return the full name of a namespace: `/left` for `left`, `/` if the text is empty.

    Raises:
        PlannerError: if the name is invalid.
    """
    if text in ("", "/"):
        return "/"
    if not _NAMESPACE.fullmatch(text) or "__" in text:
        raise PlannerError(f"expected a ROS namespace such as left or /house/left, got {text!r}")
    return f"/{text.strip('/')}"


def _checked(text: str) -> str:
    try:
        return full_namespace(text)
    except PlannerError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
