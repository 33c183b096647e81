"""The log of a demo: everything in a file; the story, warnings and errors on the screen."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from planner.world.errors import PlannerError

# The nodes that print the story; their lines are shown without a prefix.
STORY_NODES = ("narrator", "tour")
_LEVEL = re.compile(r"\[(DEBUG|INFO|WARN|ERROR|FATAL)\] \[[\d.]+\] \[[^\]]*\]: ")
# Matches `planner.narrator.story.moving_line`.
_FIRST_MOTION = re.compile(r" is moving$")
# Prefix by which `planner.ros.lifecycle` reports what ends a node.
_ERROR = "error: "
# Lines of the supervisor to show; starts and normal ends are not among them.
_NEWS = re.compile(r"died|cannot|giving up|still there|stopping")


def is_news(name: str, text: str) -> bool:
    """Whether a line is shown on the screen: the story, warnings, and lines without a level."""
    level = _LEVEL.match(text)
    if level is not None:
        return level[1] not in ("DEBUG", "INFO")
    return bool(_NEWS.search(text)) if name == "planner" else bool(text.strip())


def story_writer(
    log: Path, out: TextIO, is_hidden: Callable[[str, str], bool] | None = None
) -> Callable[[str, str], None]:
    """A function that takes the output lines of a run, each with the name of its source.

    Adds the seconds since the start to the line that reports the first motion.

    Args:
        log: the file for all lines.
        out: the screen.
        is_hidden: whether a line is to be kept off the screen.

    Raises:
        PlannerError: if the file cannot be written.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = log.open("a", encoding="utf-8")
    except OSError as error:
        raise PlannerError(f"{log}: cannot be written: {error}") from None

    begun_s = time.monotonic()
    # Every node reports an invalid episode; show it once.
    errors: set[str] = set()

    def write(name: str, text: str) -> None:
        if name in STORY_NODES and _FIRST_MOTION.search(text):
            text = f"{text}, {time.monotonic() - begun_s:.1f} s after the start"
        try:
            file.write(f"[{name}] {text}\n")
            file.flush()
        except OSError:
            # A full disk ends the log, not the run; the recorder reports it.
            pass
        if is_hidden is not None and is_hidden(name, text):
            return
        if is_news(name, text) and text not in errors:
            if text.startswith(_ERROR):
                errors.add(text)
            out.write(f"{text}\n" if name in STORY_NODES else f"[{name}] {text}\n")
            out.flush()

    return write
