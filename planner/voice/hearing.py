"""From a stream of sound to utterances, and from their words to what is sent on. No ROS here."""

from __future__ import annotations

import math
from array import array
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from planner.conversation.utterances import Kind, utterance_of
from planner.voice.part import RATE_HZ, SAMPLE_BYTES
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
