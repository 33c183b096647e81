"""The records of what hears and what speaks: what they need, their options, how they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from planner.parts.catalog import Catalog
from planner.parts.option import Option, Options, OptionValue
from planner.world.errors import PlannerError

INTERFACE = 1
# Sound is PCM everywhere: one channel, signed 16 bit, the low byte first, so many samples a second.
RATE_HZ, SAMPLE_BYTES = 16_000, 2


class VoiceError(PlannerError):
    """Something that hears or speaks is missing, or failed."""


class Recogniser(Protocol):
    """Reads what was said."""

    def transcribe(self, pcm: bytes) -> str:
        """The words of one utterance; "" = none. May take seconds.

        Raises:
            VoiceError: if it fails.
        """


class Speaker(Protocol):
    """Says a text."""

    def speak(self, text: str) -> bytes:
        """The sound of a text, PCM. May take seconds.

        Raises:
            VoiceError: if it fails.
        """


# What hears and speaks where nothing else is said.
EAR, MOUTH = "pocketsphinx", "espeak"
# Settings of the ear and, with `voice_` before their names, of the bring-up.
LISTEN = Option(
    "listen",
    "push",
    "push = the ear takes words while the button is held; always = whenever somebody speaks",
    choices=("push", "always"),
)
CONFIRM = Option(
    "confirm",
    "auto",
    "whether a task that was heard waits for a yes; auto = if the ear mishears often",
    choices=("auto", "always", "never"),
)


@dataclass(frozen=True, slots=True)
class VoiceRequest(Options):
    """The arguments for making one.

    Attributes:
        url: base address of a server that the operator named, `.../v1`; "" = none.
        options: the values of all options that the part declares.
    """

    url: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarPart:
    """The record of a recogniser.

    Attributes:
        summary: one line for the help.
        make: makes it, which may be slow; raises `VoiceError` where something is missing.
        needs_url: whether sound goes to a server; without one it stays on this machine.
        confirms: whether it mishears so much that a task is repeated and waits for a "yes".
        options: options that may be set.
        interface: the version of this record that it was written for.
    """

    summary: str
    make: Callable[[VoiceRequest], Recogniser]
    needs_url: bool = False
    confirms: bool = False
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


@dataclass(frozen=True, slots=True, kw_only=True)
class MouthPart:
    """The record of a speaker; attributes as of `EarPart`."""

    summary: str
    make: Callable[[VoiceRequest], Speaker]
    needs_url: bool = False
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


EARS: Catalog[EarPart] = Catalog(
    "ear", "planner.voice.engines", "EARS", f"{__name__}:EarPart", INTERFACE, group="planner.ears"
)
MOUTHS: Catalog[MouthPart] = Catalog(
    "mouth",
    "planner.voice.engines",
    "MOUTHS",
    f"{__name__}:MouthPart",
    INTERFACE,
    group="planner.mouths",
)
