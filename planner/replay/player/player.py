"""Plays a bag: sends each message at its time, with keyboard controls and terminal output."""

from __future__ import annotations

import math
import os
import select
import sys
import termios
import time
import tty
from array import array
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol, TextIO

from planner.replay.player.cues import Cue, CueKind, ReadAhead, Span

# The current time in a bag: a clock that can be paused, sped up and set.

MIN_RATE, MAX_RATE = 0.1, 100.0
# The rates that the keys + and - step through.
_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class Timeline:
    """Maps a steady clock to the time of a bag, both in nanoseconds.

    Attributes:
        rate: seconds of the bag per second; None = as fast as possible.
        paused: whether the time of the bag stands still.
    """

    def __init__(
        self, clock: Callable[[], int], rate: float | None = 1.0, *, paused: bool = False
    ) -> None:
        """Starts at 0; `jump` sets the time at which playback starts."""
        self._clock = clock
        self.rate = rate
        self.paused = paused
        self._bag_ns = 0
        self._since_ns = clock()

    @property
    def now_ns(self) -> int:
        """The time of the bag; without a rate that of the last `jump`."""
        if self.paused or self.rate is None:
            return self._bag_ns
        return self._bag_ns + round((self._clock() - self._since_ns) * self.rate)

    def wait_s(self, stamp_ns: int) -> float:
        """Seconds of the steady clock until a time of the bag; negative if it is past.

        Infinite while paused.
        """
        if self.paused:
            return float("inf")
        if self.rate is None:
            return 0.0
        # Subtract first: a float cannot represent nanoseconds since the epoch.
        until_ns = (stamp_ns - self._bag_ns) / self.rate - (self._clock() - self._since_ns)
        return until_ns / 1e9

    def jump(self, stamp_ns: int) -> None:
        """Sets the time of the bag."""
        self._bag_ns, self._since_ns = stamp_ns, self._clock()

    def pause(self) -> None:
        """Stops the time."""
        self.jump(self.now_ns)
        self.paused = True

    def resume(self) -> None:
        """Resumes it."""
        if self.paused:
            self.jump(self._bag_ns)
            self.paused = False

    def faster(self) -> None:
        """Steps to the next higher rate, at most 100; no effect without a rate."""
        if self.rate is not None:
            rate = self.rate
            self._set_rate(next((step for step in _STEPS if step > rate * 1.001), MAX_RATE))

    def slower(self) -> None:
        """Steps to the next lower rate, at least 0.1."""
        rate = float("inf") if self.rate is None else self.rate
        self._set_rate(next((s for s in reversed(_STEPS) if s < rate * 0.999), MIN_RATE))

    def _set_rate(self, rate: float) -> None:
        self.jump(self.now_ns)
        self.rate = rate


# How late messages are sent.


class Lateness:
    """A histogram of delays in steps of 0.1 ms up to two seconds."""

    _STEP_S, _STEPS = 1e-4, 20_000

    def __init__(self) -> None:
        self._counts = array("q", bytes(8 * (self._STEPS + 1)))
        self.count = 0
        self.max_s = 0.0

    def add(self, late_s: float) -> None:
        """Counts a message; an early one as on time."""
        step = min(math.ceil(max(late_s, 0.0) / self._STEP_S), self._STEPS)
        self._counts[step] += 1
        self.count += 1
        self.max_s = max(self.max_s, late_s)

    def quantile_s(self, share: float) -> float:
        """The delay that this share of the messages did not exceed, rounded up to a step."""
        rank, found = share * self.count, 0
        for step, count in enumerate(self._counts):
            found += count
            if found >= rank:
                return min(step * self._STEP_S, self.max_s)
        return self.max_s


# Keyboard controls during playback, and waiting for them.


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


# Longest time between two polls of the controls, and between two status lines.
CONTROL_POLL_S = 0.2
# While paused, the clock is repeated this often, for late joiners.
REPEAT_S = 0.2
# Period of a generated clock in the bag's time; at high rates longer, at most 500 per second.
TICK_NS = 20_000_000
_MAX_TICKS_HZ = 500.0
# After a stall this long, playback continues from there: sending everything overdue at once would
# help nobody.
STALL_S = 1.0
# Longer silence is skipped: it comes from a wrong clock, or nothing was running.
MAX_SILENCE_S = 3600.0
# Messages due this soon are sent at once: the system cannot sleep more precisely.
_SOON_S = 50e-6
# Messages that are sent without polling the controls.
_MAX_UNPOLLED = 256


class CueSink(Protocol):
    """Where messages go."""

    def send(self, cue: Cue) -> None:
        """Publishes a message."""

    def tick(self, stamp_ns: int) -> None:
        """Publishes a generated clock."""

    def repeat_clock(self) -> None:
        """Publishes the last clock again."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of playback.

    Attributes:
        stamp_ns: the time of the bag.
        messages: sent so far.
        passes: started so far.
    """

    stamp_ns: int
    messages: int
    passes: int


class Player:
    """Plays cues to their end.

    Attributes:
        lateness: of each message that was sent at a rate.
        messages: number of messages sent, latched state included.
        stalls: how often playback fell so far behind that the rest was delayed.
    """

    def __init__(
        self,
        cues: ReadAhead,
        timeline: Timeline,
        sink: CueSink,
        controls: Controls,
        *,
        clock_is_made: bool,
        pictures: Set[str] = frozenset(),
        on_progress: Callable[[Progress], None] = lambda _: None,
        print_line: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Takes what is to be played.

        Args:
            cues: what happens.
            timeline: when.
            sink: where messages go.
            controls: source of the user's controls, and of waiting.
            clock_is_made: whether `sink.tick` is called.
            pictures: topics whose pictures can be stepped to.
            on_progress: called at least every `CONTROL_POLL_S` while idle.
            print_line: takes a line for the user.
        """
        self._cues = cues
        self._timeline = timeline
        self._sink = sink
        self._controls = controls
        self._clock_is_made = clock_is_made
        self._pictures = pictures
        self._on_progress = on_progress
        self._print_line = print_line
        # Send all messages at once up to the first one that this accepts.
        self._until: Callable[[Cue], bool] | None = None
        self._tick_ns: int | None = None
        self._sent_unheeded = 0
        self._passes = 0
        self._ended = False
        self.lateness = Lateness()
        self.messages = 0
        self.stalls = 0

    def run(self) -> None:
        """Plays until the last cue, or until the user ends it.

        Raises:
            PlannerError: if the bag cannot be read further.
        """
        while not self._ended:
            head = self._cues.head(CONTROL_POLL_S)
            if head is not None:
                self._play(head)
            elif self._cues.ended:
                return
            else:
                self._poll_controls(0.0)

    def _play(self, cue: Cue) -> None:
        """Executes a cue, or waits a while for its time."""
        if cue.kind is CueKind.BEGIN:
            self._begin(cue)
        elif cue.kind is CueKind.STATE:
            self._send(cue)
        elif self._may_send(cue):
            if cue.kind is CueKind.MESSAGE:
                self._send(cue)
                self._step_done(cue)
        else:
            return
        self._cues.take()

    def _begin(self, cue: Cue) -> None:
        self._timeline.jump(cue.stamp_ns)
        self._passes += 1
        self._tick_ns = None
        if self._clock_is_made:
            self._tick(cue.stamp_ns)

    def _may_send(self, cue: Cue) -> bool:
        """Whether a cue is due; waits for it, or for a control."""
        if self._until is not None or (self._timeline.rate is None and not self._timeline.paused):
            # Stepping stops at the end, so that the user can stay there.
            if self._until is not None and cue.kind is CueKind.END:
                self._until = None
                return False
            self._follow(cue)
            return True
        wait_s = self._timeline.wait_s(cue.stamp_ns)
        if wait_s <= _SOON_S:
            self._note_lateness(cue, -wait_s)
            if self._clock_is_made and self._tick_due(cue.stamp_ns):
                self._tick(self._timeline.now_ns)
            return True
        silence_s = (cue.stamp_ns - self._timeline.now_ns) / 1e9
        if silence_s > MAX_SILENCE_S and not self._timeline.paused:
            self._print_line(f"the bag has nothing for {silence_s / 3600:.1f} h: goes on at once")
            self._timeline.jump(cue.stamp_ns)
            return False
        self._wait(wait_s)
        return False

    def _follow(self, cue: Cue) -> None:
        """Jumps to the time of a cue that is sent early."""
        self._timeline.jump(max(cue.stamp_ns, self._timeline.now_ns))
        if self._clock_is_made and self._tick_due(cue.stamp_ns):
            self._tick(cue.stamp_ns)

    def _wait(self, wait_s: float) -> None:
        if self._timeline.paused:
            self._sink.repeat_clock()
            self._poll_controls(REPEAT_S)
            return
        now_ns = self._timeline.now_ns
        if self._clock_is_made:
            if self._tick_due(now_ns):
                self._tick(now_ns)
            if self._tick_ns is not None:
                wait_s = min(wait_s, self._timeline.wait_s(self._tick_ns))
        self._poll_controls(min(wait_s, CONTROL_POLL_S))

    def _note_lateness(self, cue: Cue, late_s: float) -> None:
        if cue.kind is CueKind.MESSAGE:
            self.lateness.add(late_s)
        if late_s > STALL_S:
            if not self.stalls:
                self._print_line(f"{late_s:.1f} s behind: goes on from here")
            self.stalls += 1
            self._timeline.jump(cue.stamp_ns)

    def _tick_due(self, stamp_ns: int) -> bool:
        return self._tick_ns is None or stamp_ns >= self._tick_ns

    def _tick(self, stamp_ns: int) -> None:
        rate = self._timeline.rate or 1.0
        period_ns = (
            TICK_NS * min(rate, 1.0) if rate <= 1.0 else max(TICK_NS, rate / _MAX_TICKS_HZ * 1e9)
        )
        self._tick_ns = stamp_ns + round(period_ns)
        self._sink.tick(stamp_ns)

    def _send(self, cue: Cue) -> None:
        self._sink.send(cue)
        self.messages += 1
        # Controls are polled even if nothing is waited for.
        self._sent_unheeded += 1
        if self._sent_unheeded > _MAX_UNPOLLED:
            self._poll_controls(0.0)

    def _step_done(self, cue: Cue) -> None:
        if self._until is not None and self._until(cue):
            self._until = None

    def _poll_controls(self, seconds: float) -> None:
        """Waits, and executes the user's controls."""
        self._sent_unheeded = 0
        for control in self._controls.wait(seconds):
            self._apply(control)
        self._on_progress(Progress(self._timeline.now_ns, self.messages, self._passes))

    def _apply(self, control: Control) -> None:
        timeline = self._timeline
        match control:
            case Control.PAUSE if timeline.paused:
                timeline.resume()
            case Control.PAUSE:
                timeline.pause()
            case Control.STEP:
                timeline.pause()
                self._until = lambda _: True
            case Control.PICTURE:
                timeline.pause()
                self._until = lambda cue: cue.topic in self._pictures
            case Control.FASTER:
                timeline.faster()
            case Control.SLOWER:
                timeline.slower()
            case Control.END:
                self._ended = True


# Terminal output during playback: lines, and a status line on a terminal.

_REFRESH_S = 0.2
_BAR_CHARS = 24
_CLEAR = "\r\x1b[K"


class Display:
    """Writes to one stream; the status line only if that is a terminal."""

    def __init__(self, out: TextIO, span: Span, timeline: Timeline, *, loop: bool) -> None:
        """Starts empty.

        Args:
            out: the stream.
            span: the part being played.
            timeline: the current time.
            loop: whether passes are counted.
        """
        self._out = out
        self._span = span
        self._timeline = timeline
        self._loop = loop
        self._live = out.isatty()
        self._drawn_s = float("-inf")

    def print_line(self, line: str) -> None:
        """Writes a line."""
        clear = _CLEAR if self._live else ""
        self._out.write(f"{clear}{printable(line)}\n")
        self._out.flush()
        self._drawn_s = float("-inf")

    def show(self, progress: Progress) -> None:
        """Draws the progress, a few times a second."""
        now_s = time.monotonic()
        if self._live and now_s - self._drawn_s >= _REFRESH_S:
            self._drawn_s = now_s
            self._out.write(_CLEAR + self.status(progress))
            self._out.flush()

    def clear(self) -> None:
        """Removes the status line."""
        if self._live:
            self._out.write(_CLEAR)
            self._out.flush()

    def status(self, progress: Progress) -> str:
        """The status line."""
        length_ns = max(self._span.end_ns - self._span.start_ns, 1)
        done_ns = min(max(progress.stamp_ns - self._span.start_ns, 0), length_ns)
        filled = round(_BAR_CHARS * done_ns / length_ns)
        bar = "#" * filled + "." * (_BAR_CHARS - filled)
        rate = self._timeline.rate
        how = "paused" if self._timeline.paused else "x max" if rate is None else f"x {rate:g}"
        turn = f"  pass {progress.passes}" if self._loop else ""
        return (
            f"[{bar}] {clock_text(done_ns)} of {clock_text(length_ns)}  {how}{turn}  "
            f"{progress.messages} messages"
        )


def clock_text(nanoseconds: int) -> str:
    """Minutes, seconds and tenths."""
    tenths = nanoseconds // 100_000_000
    return f"{tenths // 600}:{tenths % 600 // 10:02d}.{tenths % 10}"


def printable(text: str) -> str:
    """Text of a bag without control characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
