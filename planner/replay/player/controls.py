"""Keyboard controls during playback, and waiting for them."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Protocol


class Control(Enum):
    """The action of a key."""

    PAUSE = auto()  # or resume
    STEP = auto()  # to the next message
    PICTURE = auto()  # to the next picture of a camera
    FASTER = auto()
    SLOWER = auto()
    END = auto()


KEYS = "space: pause, s or right: next message, .: next picture, + and -: rate, q: end"
_KEYS = {
    b" ": Control.PAUSE,
    b"s": Control.STEP,
    b"\x1b[C": Control.STEP,
    b"\x1bOC": Control.STEP,
    b".": Control.PICTURE,
    b"+": Control.FASTER,
    b"=": Control.FASTER,
    b"-": Control.SLOWER,
    b"_": Control.SLOWER,
    b"q": Control.END,
    # Ctrl-D, as in a shell.
    b"\x04": Control.END,
}
_ESCAPE = 0x1B


class Controls(Protocol):
    """A source of controls."""

    def wait(self, seconds: float) -> tuple[Control, ...]:
        """Waits; returns early with any controls."""
        ...


class NoControls:
    """No controls: standard input is not a terminal."""

    def wait(self, seconds: float) -> tuple[Control, ...]:
        """Waits."""
        if seconds > 0:
            time.sleep(seconds)
        return ()


class Keyboard:
    """The keys of a terminal."""

    def __init__(self, descriptor: int) -> None:
        """Reads from a terminal that passes on each key at once."""
        self._descriptor = descriptor

    def wait(self, seconds: float) -> tuple[Control, ...]:
        """Waits for a key."""
        readable, _, _ = select.select([self._descriptor], [], [], max(seconds, 0.0))
        if not readable:
            return ()
        pressed = os.read(self._descriptor, 64)
        # End of file: the terminal is gone.
        return controls_of(pressed) if pressed else (Control.END,)


def controls_of(pressed: bytes) -> tuple[Control, ...]:
    """The controls for the bytes of some keys; other keys are ignored."""
    found = []
    at = 0
    while at < len(pressed):
        # Arrow keys are three bytes.
        length = 3 if pressed[at] == _ESCAPE else 1
        control = _KEYS.get(pressed[at : at + length])
        if control is not None:
            found.append(control)
        at += length
    return tuple(found)


@contextmanager
def terminal_controls() -> Iterator[Controls]:
    """The keys of standard input if that is a terminal, whose mode is restored afterwards."""
    try:
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except (AttributeError, OSError, ValueError, termios.error):
        yield NoControls()
        return
    if os.tcgetpgrp(descriptor) != os.getpgrp():
        # In the background, reading keys would stop this process.
        yield NoControls()
        return
    tty.setcbreak(descriptor)
    try:
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
