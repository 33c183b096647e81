"""Plays a bag: sends each message at its time, and handles controls meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Protocol

from planner.replay.player.controls import Control, Controls
from planner.replay.player.cues import Cue, CueKind
from planner.replay.player.lateness import Lateness
from planner.replay.player.timeline import Timeline

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


class Cues(Protocol):
    """The cues that are played."""

    def head(self, timeout_s: float) -> Cue | None:
        """The next one, which stays the next until `take`; None if none came in time."""
        ...

    def take(self) -> None:
        """Advances to the next cue."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the last one was taken."""
        ...


class CueSink(Protocol):
    """Where messages go."""

    def send(self, cue: Cue) -> None:
        """Publishes a message."""
        ...

    def tick(self, stamp_ns: int) -> None:
        """Publishes a generated clock."""
        ...

    def repeat_clock(self) -> None:
        """Publishes the last clock again."""
        ...


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
        cues: Cues,
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
