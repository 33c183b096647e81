"""Keys, of bytes and of a real terminal."""

from __future__ import annotations

import os
import pty
import termios
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.player.controls import Control, Keyboard, NoControls, controls_of


@pytest.mark.parametrize(
    ("pressed", "controls"),
    [
        (b" ", (Control.PAUSE,)),
        (b"s", (Control.STEP,)),
        (b"\x1b[C", (Control.STEP,)),
        (b"\x1b[C\x1b[C.", (Control.STEP, Control.STEP, Control.PICTURE)),
        (b"+=", (Control.FASTER, Control.FASTER)),
        (b"-", (Control.SLOWER,)),
        (b"q", (Control.END,)),
        # Other arrows, letters, half an arrow.
        (b"\x1b[A\x1b[Dxyz", ()),
        (b"\x1b[", ()),
        (b"", ()),
    ],
)
def test_keys(pressed: bytes, controls: tuple[Control, ...]) -> None:
    assert controls_of(pressed) == controls


@given(st.binary(max_size=64))
def test_any_bytes_are_keys_or_none(pressed: bytes) -> None:
    assert len(controls_of(pressed)) <= len(pressed)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_a_terminals_keys_are_heard_while_waiting(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    settings = termios.tcgetattr(theirs)
    settings[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    keyboard = Keyboard(theirs)
    assert keyboard.wait(0.0) == ()
    os.write(ours, b".")
    assert keyboard.wait(30.0) == (Control.PICTURE,)


def test_where_nobody_is_nothing_is_asked_for() -> None:
    assert NoControls().wait(-1.0) == ()
    assert NoControls().wait(0.001) == ()
