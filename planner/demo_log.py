"""The log of a demo: all of it in a file, on the screen the story and what went wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from planner.world.errors import PlannerError

# Who tells the story; their lines need no name before them.
TELLERS = ("narrator", "tour")
_LEVEL = re.compile(r"\[(DEBUG|INFO|WARN|ERROR|FATAL)\] \[[\d.]+\] \[[^\]]*\]: ")
# Of `planner.narrator.story.moving_line`.
_FIRST_MOTION = re.compile(r" is moving$")
# As `planner.ros.lifecycle` tells what ends a node.
_ERROR = "error: "
# Of the supervisor: starts and orderly ends are no news.
_NEWS = re.compile(r"died|cannot|giving up|still there|stopping")


def is_news(name: str, text: str) -> bool:
    """Whether a line is for the screen: the story, warnings, and whatever has no level."""
    level = _LEVEL.match(text)
    if level is not None:
        return level[1] not in ("DEBUG", "INFO")
    return bool(_NEWS.search(text)) if name == "planner" else bool(text.strip())


def story_writer(
    log: Path, out: TextIO, hold_back: Callable[[str, str], bool] | None = None
) -> Callable[[str, str], None]:
    """What takes the lines of a run, each with the name of its source.

    The line that tells of the first motion gets the seconds since now added.

    Args:
        log: the file that gets all of them.
        out: the screen.
        hold_back: says of a line that it is not for the screen now.

    Raises:
        PlannerError: where the file cannot be written.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = log.open("a", encoding="utf-8")
    except OSError as error:
        raise PlannerError(f"{log}: cannot be written: {error}") from None

    begun_s = time.monotonic()
    # What is wrong with an episode every node finds out for itself; once is enough on the screen.
    errors: set[str] = set()

    def write(name: str, text: str) -> None:
        if name in TELLERS and _FIRST_MOTION.search(text):
            text = f"{text}, {time.monotonic() - begun_s:.1f} s after the start"
        try:
            file.write(f"[{name}] {text}\n")
            file.flush()
        except OSError:
            # A full disk ends the log, not the run; the recorder says so.
            pass
        if hold_back is not None and hold_back(name, text):
            return
        if is_news(name, text) and text not in errors:
            if text.startswith(_ERROR):
                errors.add(text)
            out.write(f"{text}\n" if name in TELLERS else f"[{name}] {text}\n")
            out.flush()

    return write
