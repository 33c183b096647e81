"""Message types by name, and the text of their definitions as bags carry it."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from planner.world.errors import PlannerError

_SEPARATOR = "=" * 80
_FIELD = re.compile(r"^\s*([A-Za-z][A-Za-z0-9_/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]")
_BUILTIN = frozenset(("bool", "byte", "char", "float32", "float64", "string", "wstring")) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def message_class(type_name: str) -> Any:
    """The Python class of a type such as `sensor_msgs/msg/Image`.

    Raises:
        PlannerError: if its package is not installed.
    """
    package, kind, name = type_name.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.{kind}"), name)
    except (ImportError, AttributeError):
        raise PlannerError(f"the message type {type_name} is not installed") from None


@cache
def definition(type_name: str) -> str:
    """The definition's text followed by those of all messages in it (`ros2msg`).

    Raises:
        PlannerError: if a definition is not installed.
    """
    texts: dict[str, str] = {}
    _collect(type_name, texts)
    first = texts.pop(type_name)
    others = [f"{_SEPARATOR}\nMSG: {_short(name)}\n{text}" for name, text in texts.items()]
    return "\n".join([first, *others])


def _share(package: str) -> Path:
    try:
        return Path(get_package_share_directory(package))
    except (PackageNotFoundError, OSError):
        # ROS from PyPI needs no sourced workspace: everything lies in Python's own prefix.
        return Path(sys.prefix) / "share" / package


def _short(type_name: str) -> str:
    package, _, name = type_name.split("/")
    return f"{package}/{name}"


def _collect(type_name: str, texts: dict[str, str]) -> None:
    if type_name in texts:
        return
    package, kind, name = type_name.split("/")
    try:
        text = (_share(package) / kind / f"{name}.msg").read_text(encoding="utf-8")
    except OSError:
        raise PlannerError(f"the definition of {type_name} is not installed") from None
    texts[type_name] = text
    for line in text.splitlines():
        match = _FIELD.match(line.split("#")[0])
        if match is None or match.group(1) in _BUILTIN:
            continue
        field = match.group(1)
        inner = field if "/" in field else f"{package}/{field}"
        inner_package, inner_name = inner.split("/")[0], inner.split("/")[-1]
        _collect(f"{inner_package}/msg/{inner_name}", texts)
