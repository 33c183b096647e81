"""Playing, against a clock that moves only when the player waits."""

from __future__ import annotations

import io
import os
import pty
import termios
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.player.cues import Cue, CueKind, Span
from planner.replay.player.player import (
    MAX_SILENCE_S,
    Control,
    Display,
    Keyboard,
    Lateness,
    NoControls,
    Player,
    Progress,
    Timeline,
    clock_text,
    controls_of,
    printable,
)

SECOND = 1_000_000_000
BEGIN_NS = 1_700_000_000 * SECOND


class Stage:
    """A player's surroundings: `asked` are controls by the second at which they come."""

    def __init__(self, asked: dict[float, Control] | None = None, *, send_s: float = 0.0) -> None:
        self.now_ns = 77 * SECOND
        self.begin_ns = self.now_ns
        self._asked = deque(sorted((asked or {}).items()))
        self._send_s = send_s
        self._waits = 0
        self.sent: list[tuple[float, str]] = []
        self.ticks: list[tuple[float, float]] = []
        self.repeats: list[float] = []
        self.lines: list[str] = []
        self.progress: list[Progress] = []

    @property
    def now_s(self) -> float:
        return round((self.now_ns - self.begin_ns) / SECOND, 6)

    def clock(self) -> int:
        return self.now_ns

    def wait(self, seconds: float) -> tuple[Control, ...]:
        self._waits += 1
        assert self._waits < 100_000, "the player waits for nothing"
        assert 0.0 <= seconds <= 0.2
        if self._asked and self._asked[0][0] <= self.now_s + seconds:
            at_s, control = self._asked.popleft()
            self.now_ns = max(self.now_ns, self.begin_ns + round(at_s * SECOND))
            return (control,)
        # As of a real machine: a little too long.
        self.now_ns += round(seconds * SECOND) + 1000
        return ()

    def send(self, cue: Cue) -> None:
        self.sent.append((self.now_s, cue.topic))
        self.now_ns += round(self._send_s * SECOND)

    def tick(self, stamp_ns: int) -> None:
        self.ticks.append((self.now_s, (stamp_ns - BEGIN_NS) / SECOND))

    def repeat_clock(self) -> None:
        self.repeats.append(self.now_s)

    def play(
        self,
        cues: Iterable[Cue],
        rate: float | None = 1.0,
        *,
        paused: bool = False,
        made: bool = False,
        pictures: Sequence[str] = (),
    ) -> Player:
        player = Player(
            Script(cues),
            Timeline(self.clock, rate, paused=paused),
            self,
            self,
            clock_is_made=made,
            pictures=frozenset(pictures),
            on_progress=self.progress.append,
            print_line=self.lines.append,
        )
        player.run()
        return player


class Script:
    """Cues that are all there."""

    def __init__(self, cues: Iterable[Cue]) -> None:
        self._cues = deque(cues)

    def head(self, timeout_s: float) -> Cue | None:
        return self._cues[0] if self._cues else None

    def take(self) -> None:
        self._cues.popleft()

    @property
    def ended(self) -> bool:
        return not self._cues


def one_pass(*moments_s: float, start_s: float = 0.0, end_s: float | None = None) -> list[Cue]:
    """Messages on topics named by their numbers."""
    last_s = max(moments_s) if end_s is None else end_s
    messages = [
        Cue(CueKind.MESSAGE, at(moment), str(n), b"x") for n, moment in enumerate(moments_s)
    ]
    return [Cue(CueKind.BEGIN, at(start_s)), *messages, Cue(CueKind.END, at(last_s))]


def at(seconds: float) -> int:
    return BEGIN_NS + round(seconds * SECOND)


def about(seconds: float) -> object:
    return pytest.approx(seconds, abs=1e-4)


@pytest.mark.parametrize("rate", [0.1, 1.0, 4.0])
def test_each_message_goes_out_at_its_moment(rate: float) -> None:
    stage = Stage()
    player = stage.play(one_pass(0.0, 0.5, 0.5, 3.0), rate)
    moments = [when for when, _ in stage.sent]
    assert moments == [about(m / rate) for m in (0.0, 0.5, 0.5, 3.0)]
    assert [topic for _, topic in stage.sent] == ["0", "1", "2", "3"]
    assert player.lateness.count == player.messages == 4
    assert player.lateness.max_s < 1e-4


@given(st.lists(st.floats(0.0, 50.0), min_size=1, max_size=30), st.floats(0.1, 100.0))
def test_nothing_goes_out_before_its_moment(moments: list[float], rate: float) -> None:
    stage = Stage()
    stage.play(one_pass(*sorted(moments)), rate)
    assert len(stage.sent) == len(moments)
    for (when, _), moment in zip(stage.sent, sorted(moments), strict=True):
        assert moment / rate - 1e-4 <= when <= moment / rate + 1e-3


def test_without_a_rate_nothing_is_waited_for() -> None:
    stage = Stage()
    player = stage.play(one_pass(0.0, 10.0, 5000.0), None)
    assert stage.sent == [(0.0, "0"), (0.0, "1"), (0.0, "2")]
    assert player.lateness.count == 0


def test_what_stood_before_goes_out_first_and_while_paused() -> None:
    state = [Cue(CueKind.STATE, at(1.0), "map", b"x"), Cue(CueKind.STATE, at(2.0), "tf", b"x")]
    begin, *rest = one_pass(10.5, start_s=10.0)
    stage = Stage({3.0: Control.PAUSE})
    player = stage.play([begin, *state, *rest], paused=True)
    assert stage.sent == [(0.0, "map"), (0.0, "tf"), (about(3.5), "0")]
    assert player.lateness.count == 1
    assert player.messages == 3


def test_the_end_is_waited_for() -> None:
    stage = Stage()
    stage.play(one_pass(0.0, end_s=4.0))
    assert stage.now_s == about(4.0)


def test_a_second_pass_begins_where_the_first_did() -> None:
    stage = Stage()
    stage.play([*one_pass(0.0, 1.0), *one_pass(0.0, 1.0)])
    assert [when for when, _ in stage.sent] == [about(m) for m in (0.0, 1.0, 1.0, 2.0)]
    assert stage.progress[-1].passes == 2


def test_a_pause_moves_all_that_follows() -> None:
    stage = Stage({1.0: Control.PAUSE, 6.0: Control.PAUSE})
    player = stage.play(one_pass(0.0, 0.9, 1.1, 2.0))
    assert [when for when, _ in stage.sent] == [about(m) for m in (0.0, 0.9, 6.1, 7.0)]
    assert player.lateness.max_s < 1e-4
    # Meanwhile its time is told, a few times a second.
    assert len(stage.repeats) == pytest.approx(25, abs=2)
    assert all(1.0 <= when <= 6.0 for when in stage.repeats)


def test_steps_go_from_message_to_message() -> None:
    stage = Stage({1.0: Control.STEP, 2.0: Control.STEP, 3.0: Control.STEP, 9.0: Control.PAUSE})
    stage.play(one_pass(0.5, 10.0, 20.0, 20.0, 21.0))
    assert [when for when, _ in stage.sent] == [about(m) for m in (0.5, 1.0, 2.0, 3.0, 10.0)]


def test_a_step_to_the_next_picture_sends_what_comes_before_it() -> None:
    stage = Stage({1.0: Control.PICTURE, 2.0: Control.PICTURE, 3.0: Control.END})
    stage.play(one_pass(*(float(n) for n in range(5, 25))), pictures=("3", "8"))
    assert [topic for when, topic in stage.sent if when == about(1.0)] == ["0", "1", "2", "3"]
    assert [topic for when, topic in stage.sent if when == about(2.0)] == ["4", "5", "6", "7", "8"]
    assert len(stage.sent) == 9


def test_a_step_beyond_the_last_message_stays_there() -> None:
    asked = {1.0: Control.STEP, 2.0: Control.STEP, 5.0: Control.END}
    stage = Stage(asked)
    stage.play(one_pass(8.0))
    assert [when for when, _ in stage.sent] == [about(1.0)]
    assert stage.now_s == about(5.0)


def test_the_rate_changes_at_once() -> None:
    stage = Stage({1.0: Control.FASTER, 2.0: Control.SLOWER, 3.0: Control.SLOWER})
    stage.play(one_pass(1.0, 3.0, 4.0, 5.0))
    assert [when for when, _ in stage.sent] == [about(m) for m in (1.0, 2.0, 3.0, 5.0)]


def test_it_ends_when_it_is_asked_to() -> None:
    stage = Stage({1.0: Control.END})
    stage.play(one_pass(0.5, 1.5))
    assert len(stage.sent) == 1
    assert stage.now_s == about(1.0)


def test_it_is_asked_to_end_where_nothing_is_waited_for() -> None:
    stage = Stage({0.0: Control.END})
    stage.play(one_pass(*([0.0] * 5000)), None)
    assert len(stage.sent) < 1000


@pytest.mark.parametrize(("rate", "hz"), [(0.1, 50), (1.0, 50), (4.0, 200), (100.0, 500)])
def test_a_made_clock_ticks_at_least_forty_times_a_second(rate: float, hz: int) -> None:
    stage = Stage()
    stage.play(one_pass(0.0, 2.0 * rate), rate, made=True)
    assert len(stage.ticks) / 2.0 == pytest.approx(hz, rel=0.05)
    for when, told in stage.ticks:
        assert told == pytest.approx(when * rate, abs=1e-3 * rate)
    told = [stamp for _, stamp in stage.ticks]
    assert told == sorted(told)


def test_a_made_clock_keeps_up_with_messages_that_are_not_waited_for() -> None:
    stage = Stage()
    stage.play(one_pass(0.0, 0.005, 1.0, 2.0), None, made=True)
    assert [told for _, told in stage.ticks] == [0.0, 1.0, 2.0]


def test_without_a_made_clock_none_ticks() -> None:
    stage = Stage()
    stage.play(one_pass(0.0, 1.0))
    assert stage.ticks == []


def test_silence_of_a_wrong_clock_is_not_waited_for() -> None:
    stage = Stage()
    stage.play(one_pass(0.0, MAX_SILENCE_S + 50.0, MAX_SILENCE_S + 51.0))
    assert [when for when, _ in stage.sent] == [0.0, about(0.0), about(1.0)]
    assert stage.lines == ["the bag has nothing for 1.0 h: goes on at once"]


def test_a_stopped_process_continues_instead_of_catching_up() -> None:
    stage = Stage(send_s=0.0)
    cues = one_pass(*(n / 10 for n in range(50)))

    def stop_once(cue: Cue) -> None:
        Stage.send(stage, cue)
        if cue.topic == "9":
            stage.now_ns += 30 * SECOND

    stage.send = stop_once  # type: ignore[method-assign]
    player = stage.play(cues)
    assert player.stalls == 1
    assert stage.lines == ["29.9 s behind: goes on from here"]
    gaps = [b - a for (a, _), (b, _) in zip(stage.sent[10:], stage.sent[11:], strict=False)]
    assert gaps == [about(0.1)] * 39


def test_what_is_late_is_counted() -> None:
    stage = Stage(send_s=0.02)
    player = stage.play(one_pass(0.0, 0.01, 0.02, 1.0))
    assert player.lateness.count == 4
    assert player.lateness.max_s == pytest.approx(0.02, abs=1e-4)
    assert player.lateness.quantile_s(0.5) <= 0.005


def test_progress_tells_the_time_of_the_bag() -> None:
    stage = Stage()
    stage.play(one_pass(0.0, 2.0), 2.0)
    stamps = [(p.stamp_ns - BEGIN_NS) / SECOND for p in stage.progress]
    assert stamps == sorted(stamps)
    assert stamps[-1] == about(2.0)
    assert len(stamps) >= 5


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


STEP_S = 1e-4


@given(st.lists(st.floats(-0.01, 3.0), min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_quantiles_are_those_of_the_list(late: list[float], share: float) -> None:
    lateness = Lateness()
    for value in late:
        lateness.add(value)
    ordered = sorted(max(value, 0.0) for value in late)
    exact = next(value for n, value in enumerate(ordered) if n + 1 >= share * len(ordered) - 1e-9)
    found = lateness.quantile_s(share)
    assert min(exact, 2.0) - 1e-9 <= found <= min(exact, 2.0) + STEP_S + 1e-9
    assert lateness.max_s == max(ordered)


def test_shares() -> None:
    lateness = Lateness()
    for value in (0.0, 0.004, 0.005, 0.0052, 7.0):
        lateness.add(value)
    assert lateness.quantile_s(0.6) == pytest.approx(0.005)
    assert lateness.quantile_s(1.0) == pytest.approx(2.0)
