"""A small learned ranking of rooms and furniture by where something probably is."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.world.catalogue import (
    Catalogue,
    FurnitureClass,
    ObjectClass,
    default_catalogue,
    default_word_meanings,
)
from planner.world.errors import FileError
from planner.world.files import read_bytes, reading
from planner.world.process_resources import single_blas_thread
from planner.world.share import config_dir
from planner.world.weights_file import (
    MAX_WEIGHTS_BYTES,
    header_value,
    read_weights,
    require_shapes,
    write_weights,
)

# What the ranking model reads of a noun: its letters, its words, and what the catalogue says.
#
# Every feature is hashed into one of `BUCKETS` rows of the model's table, so that nouns that were
# never trained still share features with known ones. Of the catalogue only names, groups,
# affordances of furniture, heights and hollows are read. Its usual places are not: they are what
# the house generator places things by, and would be the answer.

# Rows of the table for letters, for classes and for kinds: a class that was never trained must not
# share its row with letters that were.
_SPELLINGS, _IDENTITIES, _KINDS = 8192, 4096, 1024
BUCKETS = _SPELLINGS + _IDENTITIES + _KINDS
_NUMBER = re.compile(r"[_ ]\d+$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_SHORTEST, _LONGEST = 3, 5


class Noun(StrEnum):
    """What a noun names; a target is anything that is searched for, an object or furniture."""

    TARGET = "target"
    FURNITURE = "furniture"
    ROOM = "room"


@dataclass(frozen=True, slots=True)
class Features:
    """Rows of the table.

    Attributes:
        spelling: of the noun's letters and words; never empty.
        identity: of the class that the catalogue knows it as; empty or one.
        kind: of a thing's groups, or of what furniture is like; empty if the catalogue has none.
    """

    spelling: tuple[int, ...]
    identity: tuple[int, ...]
    kind: tuple[int, ...]


def class_text(name: str) -> str:
    """A name as text: `kitchen_table_3`, `KitchenTable` and `kitchen table` are alike."""
    spaced = _CAMEL.sub(" ", _NUMBER.sub("", name.strip()))
    return _NOT_LETTERS.sub(" ", spaced.lower()).strip()


@lru_cache(maxsize=8192)
def features(name: str, noun: Noun) -> Features:
    """The features of a noun, given by name or as text."""
    text = class_text(name)
    identity, kind = _known(text, noun)
    return Features(
        _rows(_spelling(text), 0, _SPELLINGS),
        _rows(identity, _SPELLINGS, _IDENTITIES),
        _rows(kind, _SPELLINGS + _IDENTITIES, _KINDS),
    )


def _rows(words: Iterable[str], first: int, count: int) -> tuple[int, ...]:
    return tuple(sorted({first + _hashed(word) % count for word in words}))


def _hashed(word: str) -> int:
    digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _spelling(text: str) -> list[str]:
    words = text.split() or [""]
    found = [f"word {word}" for word in words]
    # Run together as well: VirtualHome writes kitchencabinet.
    for part in {*words, "".join(words)}:
        padded = f"<{part}>"
        for length in range(_SHORTEST, _LONGEST + 1):
            found += [padded[i : i + length] for i in range(len(padded) - length + 1)]
    return found


def _known(text: str, noun: Noun) -> tuple[list[str], list[str]]:
    """What the catalogue says: the class, and what it is like."""
    catalogue, joined = default_catalogue(), text.replace(" ", "")
    if noun is Noun.ROOM:
        room = catalogue.room_name(text) or _run_together()[Noun.ROOM].get(joined)
        return ([f"room {room}"] if room else []), []
    if noun is Noun.TARGET:
        thing = catalogue.object_name(text) or _run_together()[Noun.TARGET].get(joined)
        if thing is not None:
            return [f"object {thing}"], _object_kind(catalogue.objects[thing])
    piece = _furniture_class(text)
    if piece is not None:
        return [f"furniture {piece}"], _furniture_kind(catalogue.furniture[piece])
    return [], _shared_kind(text, catalogue) if noun is Noun.TARGET else []


def _shared_kind(text: str, catalogue: Catalogue) -> list[str]:
    """What all classes have in common that a phrase, or its last word, may mean."""
    meanings = default_word_meanings()
    meaning = meanings.find(text) or meanings.find(text.rpartition(" ")[2])
    if meaning is None or not meaning.objects:
        return []
    kinds = [set(_object_kind(catalogue.objects[name])) for name in meaning.objects]
    return sorted(set.intersection(*kinds))


def _object_kind(thing: ObjectClass) -> list[str]:
    return [f"group {group}" for group in thing.groups]


def _furniture_kind(piece: FurnitureClass) -> list[str]:
    found = [f"can be {affordance}" for affordance in piece.affordances]
    found += [f"holds {relation}" for relation in holding(piece)]
    return [*found, f"height {round(piece.size_max_m[2] * 2)}"]


def holding(piece: FurnitureClass) -> tuple[str, ...]:
    """How a class of furniture holds things: `on`, `open`, `closed`."""
    found = ["on"] if piece.surfaces else []
    found += ["open"] if any(hollow.joint is None for hollow in piece.interiors) else []
    found += ["closed"] if any(hollow.joint is not None for hollow in piece.interiors) else []
    return tuple(found)


def holding_of(name: str) -> tuple[str, ...] | None:
    """How a piece of furniture holds things; None if the catalogue does not know it."""
    piece = _furniture_class(class_text(name))
    return None if piece is None else holding(default_catalogue().furniture[piece])


def is_thing(name: str) -> bool:
    """Whether the catalogue knows a noun as a movable thing, and not as furniture."""
    text = class_text(name)
    joined = text.replace(" ", "")
    return _furniture_class(text) is None and (
        default_catalogue().object_name(text) is not None or joined in _run_together()[Noun.TARGET]
    )


def _furniture_class(text: str) -> str | None:
    joined = text.replace(" ", "")
    return default_catalogue().furniture_name(text) or _run_together()[Noun.FURNITURE].get(joined)


@lru_cache(maxsize=1)
def _run_together() -> dict[Noun, dict[str, str]]:
    """Classes by their names and aliases without spaces."""
    catalogue = default_catalogue()
    objects, furniture = catalogue.objects.values(), catalogue.furniture.values()
    listed = {
        Noun.TARGET: [(item.name, item.aliases) for item in objects],
        Noun.FURNITURE: [(item.name, item.aliases) for item in furniture],
        Noun.ROOM: [(item.name, item.aliases) for item in catalogue.rooms.values()],
    }
    return {
        noun: {
            class_text(word).replace(" ", ""): name
            for name, aliases in items
            for word in (*aliases, name)
        }
        for noun, items in listed.items()
    }


# The ranking model's network: embedded nouns, three small towers, and their products.
#
# The vector of a noun that the catalogue knows is its class's row of the table plus the mean of its
# kind's rows; that of another one is the mean of its spelling's rows, and of its kind's if its last
# word has one. A target's tower meets the tower of each room, of each place in a room (a piece of
# furniture and how it holds things), and of "not in this room". Scores are logits.

Array = NDArray[np.float32]
Weights = Mapping[str, Array]
WIDTH, HIDDEN = 24, 48


class Hold(IntEnum):
    """How a place holds things: on it, in what is always open, in what is closed."""

    ON = 0
    OPEN = 1
    CLOSED = 2


def shapes() -> dict[str, tuple[int, ...]]:
    """The shape of each array of weights."""
    tower = {
        "target": {"noun": WIDTH},
        "room": {"noun": WIDTH, "furniture": WIDTH},
        "place": {"noun": WIDTH, "room": WIDTH, "hold": len(Hold)},
        "absent": {"room": WIDTH, "furniture": WIDTH},
    }
    found: dict[str, tuple[int, ...]] = {"table": (BUCKETS, WIDTH)}
    for name, inputs in tower.items():
        found |= {f"{name}.{given}": (size, HIDDEN) for given, size in inputs.items()}
        found[f"{name}.bias"] = (HIDDEN,)
        if name != "target":
            found |= {f"{name}.product": (HIDDEN, HIDDEN), f"{name}.own": (HIDDEN,)}
    found["absent.level"] = (1,)
    return found


def parameter_count() -> int:
    """The number of weights."""
    return sum(int(np.prod(shape)) for shape in shapes().values())


def embed(weights: Weights, found: Sequence[Features]) -> Array:
    """(n, WIDTH) vectors of nouns."""
    table = weights["table"]
    rows = np.zeros((len(found), WIDTH), np.float32)
    for row, noun in zip(rows, found, strict=True):
        for part in (() if noun.identity else noun.spelling, noun.kind, noun.identity):
            if part:
                row += table[list(part)].mean(axis=0)
    return rows


def embed_names(weights: Weights, names: Sequence[str], noun: Noun) -> Array:
    """(n, WIDTH) vectors of nouns by name."""
    return embed(weights, [features(name, noun) for name in names])


def tower(weights: Weights, name: str, inputs: Mapping[str, Array]) -> Array:
    """(n, HIDDEN) one tower's output for n inputs of each kind."""
    total = weights[f"{name}.bias"]
    for given, values in inputs.items():
        total = total + values @ weights[f"{name}.{given}"]
    # A straight target: one that was never trained is then between those whose groups it shares.
    made: Array = total if name == "target" else np.maximum(total, 0.0)
    return made


def meet(weights: Weights, name: str, targets: Array, others: Array) -> Array:
    """(targets, others) logits of two towers' outputs."""
    logits: Array = (targets @ weights[f"{name}.product"]) @ others.T + others @ weights[
        f"{name}.own"
    ]
    return logits


def one_hot(holds: Sequence[Hold]) -> Array:
    """(n, 3) the ways of holding as vectors."""
    made: Array = np.eye(len(Hold), dtype=np.float32)[list(holds)]
    return made


def log_softmax(logits: Array) -> Array:
    """Along the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    made: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return made


# How likely something lying in the open was overlooked from the room's middle.
OVERLOOKED = 0.1
_LEAST = 1e-4


@dataclass(frozen=True, slots=True)
class LikelyPlace:
    """A piece of furniture by its index, with the probability that what is sought is there."""

    index: int
    probability: float


class RankingModel:
    """The network with its weights; every method is a pure function of its arguments."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    @property
    def weights(self) -> Weights:
        """By the names of `network.shapes`."""
        return self._weights

    @single_blas_thread
    def room_probabilities(
        self, targets: Sequence[str], rooms: Sequence[str], furniture: Sequence[Sequence[str]] = ()
    ) -> Array:
        """(rooms,) probability that a room holds all targets; sums to 1.

        Args:
            targets: names or words of what is sought; at least one.
            rooms: names or words of rooms, such as `bedroom_1`.
            furniture: classes of furniture known in each room; empty = none known.
        """
        if not rooms:
            return np.zeros(0, np.float32)
        known = furniture or [()] * len(rooms)
        inputs = {
            "noun": embed_names(self._weights, rooms, Noun.ROOM),
            "furniture": self._means(known),
        }
        each = tower(self._weights, "room", inputs)
        logs = log_softmax(meet(self._weights, "room", self._targets(targets), each))
        made: Array = np.exp(log_softmax(logs.sum(axis=0)))
        return made

    @single_blas_thread
    def likely_places(
        self,
        targets: Sequence[str],
        room: str,
        furniture: Sequence[str],
        *,
        overlooked: float = OVERLOOKED,
    ) -> tuple[tuple[LikelyPlace, ...], float]:
        """Pieces of a room, likeliest first, for targets that were not seen from its middle.

        Args:
            targets: names or words of what is sought; at least one.
            room: name or words of the room.
            furniture: names or words of its pieces.
            overlooked: probability that a thing in the open is not seen from the middle.

        Returns:
            The pieces, and the probability that the targets are not in this room.
        """
        spots = [(at, hold) for at, name in enumerate(furniture) for hold in _holds(name)]
        if not spots:
            return (), 1.0
        nouns = embed_names(self._weights, furniture, Noun.FURNITURE)
        here = embed_names(self._weights, [room], Noun.ROOM)
        inputs = {
            "noun": nouns[[at for at, _ in spots]],
            "room": np.repeat(here, len(spots), axis=0),
            "hold": one_hot([hold for _, hold in spots]),
        }
        sought = self._targets(targets)
        there = meet(self._weights, "place", sought, tower(self._weights, "place", inputs))
        nowhere = tower(
            self._weights, "absent", {"room": here, "furniture": self._means([list(furniture)])}
        )
        missing = meet(self._weights, "absent", sought, nowhere) + self._weights["absent.level"]
        unseen = [1.0 if hold is Hold.CLOSED else overlooked for _, hold in spots]
        logits = np.concatenate([there + np.log(np.array(unseen, np.float32)), missing], axis=1)
        # (targets, spots + 1) given that it was not seen.
        each = np.exp(log_softmax(logits))
        pieces = np.zeros((len(targets), len(furniture)), np.float64)
        for column, (at, _) in enumerate(spots):
            pieces[:, at] += each[:, column]
        together = np.exp(np.log(np.maximum(pieces, _LEAST)).mean(axis=0))
        # Stable, so that equal pieces keep the given order.
        order = np.argsort(-together, kind="stable")
        absent = 1.0 - float(np.prod(1.0 - each[:, -1]))
        return tuple(LikelyPlace(int(at), float(together[at])) for at in order), absent

    def _targets(self, targets: Sequence[str]) -> Array:
        nouns = embed_names(self._weights, targets, Noun.TARGET)
        return tower(self._weights, "target", {"noun": nouns})

    def _means(self, groups: Sequence[Sequence[str]]) -> Array:
        made = np.zeros((len(groups), WIDTH), np.float32)
        for row, group in zip(made, groups, strict=True):
            if group:
                row += embed_names(self._weights, list(group), Noun.FURNITURE).mean(axis=0)
        return made


@lru_cache(maxsize=1024)
def _holds(name: str) -> tuple[Hold, ...]:
    """How a piece holds things; in every way if the catalogue does not know it."""
    known = holding_of(name)
    if known is None:
        return (Hold.ON, Hold.CLOSED)
    names = {"on": Hold.ON, "open": Hold.OPEN, "closed": Hold.CLOSED}
    return tuple(names[word] for word in known)


# The file of a trained ranking: safetensors in half precision, its recipe in the header.

VERSION = "1"
_KEY = "planner_ranking_model"
# In the header: the safety margin below which furniture is not searched, and the rest is told.
_WEIGHTS_LEAST = "least_probability"


@dataclass(frozen=True, slots=True)
class RankingFile:
    """A trained ranking.

    Attributes:
        weights: float32 by the names of `network.shapes`.
        least_probability: furniture that is less likely to hide the target is not proposed.
        notes: how it was trained, for the record.
        digest: the start of the file's SHA-256; "" before it is written.
    """

    weights: Weights
    least_probability: float
    notes: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""


def shipped_ranking() -> Path:
    """The ranking that comes with the package."""
    return config_dir() / "models" / "et_ranking.safetensors"


def write_ranking(path: Path, ranking: RankingFile) -> None:
    """Writes a ranking.

    Raises:
        FileError: where it cannot be written.
    """
    metadata = {
        **ranking.notes,
        _KEY: VERSION,
        _WEIGHTS_LEAST: json.dumps(ranking.least_probability),
    }
    write_weights(path, ranking.weights, metadata)


def read_ranking(path: Path) -> RankingFile:
    """Reads a ranking; a file that did not change is read once a process.

    Raises:
        FileError: where it is missing, cut off, of another kind or version, or does not fit.
    """
    with reading(path):
        state = path.stat()
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, _changed_ns: int, _size: int) -> RankingFile:
    weights, metadata = read_weights(path)
    version = metadata.pop(_KEY, None)
    if version != VERSION:
        found = "is not a ranking model" if version is None else f"is of version {version!r}"
        raise FileError(path, _KEY, f"{found}; expected version {VERSION}")
    try:
        least = header_value(path, metadata, _WEIGHTS_LEAST)
    except FileError as error:
        raise FileError(path, _WEIGHTS_LEAST, f"is not a number: {error.reason}") from None
    if not isinstance(least, float | int) or isinstance(least, bool):
        raise FileError(path, _WEIGHTS_LEAST, "is not a number")
    if not 0.0 <= least < 1.0:
        raise FileError(path, _WEIGHTS_LEAST, f"expected 0 to 1, got {least:g}")
    require_shapes(path, weights, shapes())
    digest = hashlib.sha256(read_bytes(path, MAX_WEIGHTS_BYTES)).hexdigest()[:12]
    return RankingFile(weights, float(least), metadata, digest)
