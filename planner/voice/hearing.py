"""From a stream of sound to utterances, and from their words to what is sent on. No ROS here."""

from __future__ import annotations

import math
from array import array
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from planner.conversation.utterances import Kind, utterance_of
from planner.voice.part import RATE_HZ, SAMPLE_BYTES
from planner.world.errors import FileError
from planner.world.share import config_dir
from planner.world.topics import one_line

# Of one utterance: more is cut off, less is a noise.
MAX_UTTERANCE_S, MIN_UTTERANCE_S = 20.0, 0.25
# An utterance ends after so much quiet; so much before its first sound belongs to it.
QUIET_S, LEAD_S = 0.7, 0.3
# Loudness of speech above that of the room, as a ratio of amplitudes, and the least that counts.
_ABOVE, _LEAST = 2.5, 150.0
# The room's loudness follows quieter blocks at once and louder ones by this share of each.
_RISE = 0.02
_YES = frozenset(["yes", "yeah", "yep", "sure", "correct", "right", "exactly"])
_NO = frozenset(["no", "nope", "wrong", "not"])
# Changes nothing in the world, or only what was begun.
_PASS = (Kind.GO_ON, Kind.ASK, Kind.CHAT)
_BYTES_A_SECOND = RATE_HZ * SAMPLE_BYTES


class Listen(StrEnum):
    """When the ear takes what is said: while the button is held, or whenever somebody speaks.

    "Stop" is heard in both.
    """

    PUSH = "push"
    ALWAYS = "always"


class Spotter(Protocol):
    """Hears "stop" in a stream."""

    def hear(self, pcm: bytes) -> bool:
        """Takes the next sound; whether "stop" was said in it."""

    def forget(self) -> None:
        """Begins anew."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a block of sound: "stop", or a whole utterance as PCM."""

    stop: bool = False
    utterance: bytes = b""


def loudness(pcm: bytes) -> float:
    """The root mean square of samples, 0 to 32768."""
    samples = array("h", pcm)
    return math.sqrt(sum(x * x for x in samples) / len(samples)) if samples else 0.0


class Utterances:
    """Cuts a stream into utterances; "stop" comes out at once and ends the one that it is in."""

    def __init__(self, spotter: Spotter, listen: Listen) -> None:
        self._spotter, self._listen = spotter, listen
        self._is_pushed = self._stopped = False
        self._sound = bytearray()
        self._lead: deque[bytes] = deque()
        self._room = _LEAST
        self._quiet_s = 0.0

    def push(self, is_pushed: bool) -> Heard:
        """The button was pressed or released, after which the utterance is complete."""
        was, self._is_pushed = self._is_pushed, is_pushed
        if is_pushed and not was:
            self._sound.clear()
            self._stopped = False
        if was and not is_pushed and self._listen is Listen.PUSH:
            return self._ended()
        return Heard()

    def hear(self, pcm: bytes, *, is_muted: bool = False) -> Heard:
        """Takes the next sound, PCM; an odd byte at its end is dropped.

        `is_muted`: as it may be the robot's own voice, nothing but "stop" is taken.
        """
        pcm = pcm[: len(pcm) // SAMPLE_BYTES * SAMPLE_BYTES]
        if self._spotter.hear(pcm):
            self._spotter.forget()
            self._stopped = True
            return Heard(stop=True)
        if self._is_pushed:
            self._add(pcm)
        elif is_muted:
            self.forget()
        elif self._listen is Listen.ALWAYS:
            return self._follow(pcm)
        return Heard()

    def forget(self) -> None:
        """Drops what was heard, as after the robot's own voice."""
        self._sound.clear()
        self._lead.clear()
        self._quiet_s, self._stopped = 0.0, False

    def _add(self, pcm: bytes) -> None:
        room = int(MAX_UTTERANCE_S * _BYTES_A_SECOND) - len(self._sound)
        self._sound += pcm[: max(0, room)]

    def _follow(self, pcm: bytes) -> Heard:
        """Somebody may begin or end to speak, by loudness."""
        loud, length_s = loudness(pcm), len(pcm) / _BYTES_A_SECOND
        speaks = loud > max(_LEAST, _ABOVE * self._room)
        self._room = min(loud, self._room + _RISE * (loud - self._room))
        if not self._sound and not speaks:
            self._lead.append(pcm)
            while sum(map(len, self._lead)) > LEAD_S * _BYTES_A_SECOND and len(self._lead) > 1:
                self._lead.popleft()
            self._stopped = False
            return Heard()
        if not self._sound:
            self._sound += b"".join(self._lead)
            self._lead.clear()
        self._add(pcm)
        self._quiet_s = 0.0 if speaks else self._quiet_s + length_s
        if self._quiet_s < QUIET_S and len(self._sound) < MAX_UTTERANCE_S * _BYTES_A_SECOND:
            return Heard()
        return self._ended()

    def _ended(self) -> Heard:
        sound, stopped = bytes(self._sound), self._stopped
        self.forget()
        if stopped or len(sound) < MIN_UTTERANCE_S * _BYTES_A_SECOND:
            # Beside "stop", nothing that was said in the same breath is a task.
            return Heard()
        return Heard(utterance=sound)


@dataclass(frozen=True, slots=True)
class Step:
    """What to send to the robots, and what to say back; "" = nothing."""

    send: str = ""
    say: str = ""


class Confirmation:
    """Repeats a task and waits for "yes", where the ear mishears; all else passes."""

    def __init__(self, *, confirms: bool) -> None:
        self._confirms, self._pending = confirms, ""

    def take(self, words: str, *, is_answer: bool = False) -> Step:
        """What comes of words that were heard.

        Args:
            words: as the recogniser read them.
            is_answer: whether a question of the robots waits for them.
        """
        text = one_line(words)
        if not text:
            return Step(say="I did not understand.")
        said = utterance_of(text)
        if said.halts or (not self._pending and said.kind in _PASS):
            self._pending = ""
            return Step(send=text)
        pending, self._pending = self._pending, ""
        spoken = set(text.lower().replace(",", " ").replace(".", " ").split())
        if pending and spoken & _NO:
            return Step(say="I do nothing.")
        if pending and spoken & _YES:
            return Step(send=pending)
        if not self._confirms or is_answer:
            return Step(send=text)
        self._pending = text
        return Step(say=f"Did you say: {text}?")


# Hears the word "stop" in a stream of sound, before any recogniser has read it.
#
# A small network looks at 0.9 s of sound every 40 ms. It is trained and tested on speech of
# espeak-ng (`scripts/stop_spotter.py`), and decides for itself: what else is heard does not matter
# to it.

Floats = npt.NDArray[np.float32]

FRAME, HOP, FFT, BANDS = 400, 320, 512, 24
WINDOW = 45
# Frames between two looks; how many looks in a row, on average, have to be sure.
STRIDE, LOOKS = 2, 3
# Loudness of a very quiet room, of 32768.
_ROOM = 60.0
_LOW_HZ, _HIGH_HZ = 100.0, 7000.0


@cache
def _bank() -> Floats:
    """Triangles on the mel scale, (BANDS, FFT // 2 + 1)."""

    def mel(hertz: float) -> float:
        return 2595.0 * float(np.log10(1.0 + hertz / 700.0))

    edges = np.linspace(mel(_LOW_HZ), mel(_HIGH_HZ), BANDS + 2)
    hertz = 700.0 * (10.0 ** (edges / 2595.0) - 1.0)
    at = np.fft.rfftfreq(FFT, 1.0 / RATE_HZ)
    rise = (at - hertz[:-2, None]) / (hertz[1:-1] - hertz[:-2])[:, None]
    fall = (hertz[2:, None] - at) / (hertz[2:] - hertz[1:-1])[:, None]
    return np.asarray(np.maximum(0.0, np.minimum(rise, fall)), np.float32)


def features(samples: npt.NDArray[np.int16]) -> Floats:
    """Log energies of bands, (frames, BANDS), of samples at `RATE_HZ`."""
    count = max(0, (len(samples) - FRAME) // HOP + 1)
    if not count:
        return np.zeros((0, BANDS), np.float32)
    strips = np.lib.stride_tricks.sliding_window_view(samples, FRAME)[: count * HOP : HOP]
    shaped = strips.astype(np.float32) / 32768.0 * np.hanning(FRAME).astype(np.float32)
    power = np.abs(np.fft.rfft(shaped, FFT)) ** 2
    return np.asarray(np.log(power @ _bank().T + 1e-6), np.float32)


def windows(frames: Floats) -> Floats:
    """Each `STRIDE` frames one window, (n, WINDOW * BANDS), free of loudness and colour."""
    if len(frames) < WINDOW:
        return np.zeros((0, WINDOW * BANDS), np.float32)
    seen = np.lib.stride_tricks.sliding_window_view(frames, WINDOW, axis=0)[::STRIDE]
    centred = seen - seen.mean(axis=2, keepdims=True)
    scale = centred.std(axis=(1, 2), keepdims=True) + 0.3
    return np.asarray((centred / scale).reshape(len(seen), -1), np.float32)


@dataclass(frozen=True, slots=True)
class Network:
    """Weights: (inputs, hidden), (hidden,), (hidden,) and (1,); how sure it has to be, 0 to 1."""

    first: Floats
    bias: Floats
    second: Floats
    last: Floats
    threshold: float

    def sureness(self, seen: Floats) -> Floats:
        """Of each window, (n,), how sure it is that "stop" ends there, 0 to 1."""
        hidden = np.maximum(0.0, seen @ self.first + self.bias)
        raw = np.clip(hidden @ self.second + self.last, -30.0, 30.0)
        return np.asarray(1.0 / (1.0 + np.exp(-raw)), np.float32)


def read_network(path: Path) -> Network:
    """Reads the weights.

    Raises:
        FileError: if they are missing or of another shape.
    """
    try:
        read = {name: value.astype(np.float32) for name, value in load_file(path).items()}
        network = Network(
            read["first"], read["bias"], read["second"], read["last"], float(read["threshold"][0])
        )
    except (OSError, KeyError, ValueError, IndexError) as error:
        raise FileError(path, "", f"no weights of the stop spotter: {error!r}") from None
    hidden = len(network.bias)
    shapes = (network.first.shape, network.second.shape, network.last.shape)
    if shapes != ((WINDOW * BANDS, hidden), (hidden,), (1,)):
        raise FileError(path, "", f"weights of the stop spotter of another shape: {shapes}")
    return network


@lru_cache(maxsize=1)
def shipped_network() -> Network:
    """The network that ships with the package, read once."""
    return read_network(config_dir() / "voice" / "stop.safetensors")


class StopSpotter:
    """Listens to a stream, block by block."""

    def __init__(self, network: Network | None = None) -> None:
        self._network = network or shipped_network()
        self._draw = np.random.default_rng(0)
        self.forget()

    def forget(self) -> None:
        """Begins anew: what comes next does not follow on what came before."""
        self._samples = np.zeros(0, np.int16)
        self._frames = np.zeros((0, BANDS), np.float32)
        self._sure = np.zeros(0, np.float32)

    def hear(self, pcm: bytes) -> bool:
        """Takes the next sound; whether "stop" was said in it."""
        came = np.frombuffer(pcm, "<i2").astype(np.int32)
        # Quieter than any room: perfect silence around a word is nothing that it was trained on.
        came += self._draw.normal(0.0, _ROOM, len(came)).astype(np.int32)
        self._samples = np.concatenate([self._samples, np.clip(came, -32768, 32767).astype("<i2")])
        new = features(self._samples)
        self._samples = self._samples[len(new) * HOP :]
        self._frames = np.concatenate([self._frames, new])
        seen = windows(self._frames)
        self._frames = self._frames[len(seen) * STRIDE :]
        self._sure = np.concatenate([self._sure, self._network.sureness(seen)])
        if len(self._sure) < LOOKS:
            return False
        means = np.convolve(self._sure, np.full(LOOKS, 1.0 / LOOKS), "valid")
        self._sure = self._sure[1 - LOOKS :]
        return bool(means.max() > self._network.threshold)
