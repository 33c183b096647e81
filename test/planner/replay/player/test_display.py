"""What is told while a bag is played."""

from __future__ import annotations

import io

from planner.replay.player.cues import Span
from planner.replay.player.display import Display, clock_text, printable
from planner.replay.player.player import Progress
from planner.replay.player.timeline import Timeline

SECOND = 1_000_000_000
SPAN = Span(100 * SECOND, 180 * SECOND)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def timeline(**fields: bool) -> Timeline:
    return Timeline(lambda: 0, 2.0, **fields)


def test_the_status_line() -> None:
    display = Display(io.StringIO(), SPAN, timeline(), loop=False)
    status = display.status(Progress(120 * SECOND, 17, 1))
    assert status == "[######..................] 0:20.0 of 1:20.0  x 2  17 messages"
    paused = Display(io.StringIO(), SPAN, timeline(paused=True), loop=True)
    assert paused.status(Progress(0, 0, 3)).startswith(
        "[" + "." * 24 + "] 0:00.0 of 1:20.0  paused"
    )
    assert "pass 3" in paused.status(Progress(0, 0, 3))


def test_only_a_terminal_gets_a_status_line() -> None:
    for out, lives in ((io.StringIO(), False), (Terminal(), True)):
        display = Display(out, SPAN, timeline(), loop=False)
        display.show(Progress(120 * SECOND, 17, 1))
        display.print_line("a line")
        display.clear()
        assert ("17 messages" in out.getvalue()) == lives
        assert "a line\n" in out.getvalue()
        assert ("\x1b" in out.getvalue()) == lives


def test_text_of_a_bag_is_no_command_to_a_terminal() -> None:
    assert printable("/a\x1b[2J\nb\u202e") == "/a\\x1b[2J\\nb\\u202e"
    out = Terminal()
    Display(out, SPAN, timeline(), loop=False).print_line("/\x1b]0;x\x07")
    assert "\x07" not in out.getvalue()


def test_times() -> None:
    assert clock_text(0) == "0:00.0"
    assert clock_text(3_725_960_000_000) == "62:05.9"
