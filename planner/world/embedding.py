"""Sentences as vectors, for finding tasks like another.

`SentenceEncoder` runs a sentence transformer (a BERT with mean pooling, such as all-MiniLM-L6-v2)
in NumPy from its own files; it needs the extra `embed`. `HashedWords` needs nothing and compares
words only: a plain lexical measure, named as such wherever it is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.world.errors import FileError, PlannerError, from_validation

Vectors = NDArray[np.float32]
_WORD = re.compile(r"[^\W_]+")
_DIMENSIONS = 512
# The paper's and all-MiniLM's longest input.
_MAX_TOKENS = 256


class Embedder(Protocol):
    """Turns sentences into vectors of length one."""

    @property
    def embedder_id(self) -> str:
        """Stands beside stored vectors: those of another embedder cannot be compared."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, float32, each of length one (zeros for a text without words)."""


class HashedWords:
    """Lexical: hashed words and letter triples, no meaning. Works everywhere."""

    @property
    def embedder_id(self) -> str:
        """Its name and size."""
        return f"hashed-words-{_DIMENSIONS}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder`."""
        rows = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for part, weight in _parts(text):
                digest = hashlib.blake2b(part.encode(), digest_size=8).digest()
                value = int.from_bytes(digest, "little")
                row[value % _DIMENSIONS] += weight if value >> 63 else -weight
        return _unit(rows)


def _parts(text: str) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for word in _WORD.findall(text.lower()):
        found.append((word, 1.0))
        padded = f"^{word}$"
        found += [(padded[i : i + 3], 0.3) for i in range(len(padded) - 2)]
    return found


def _unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    return unit


class _Config(BaseModel):
    """What is read of a BERT's config.json."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    model_type: str
    hidden_size: int = Field(gt=0)
    num_attention_heads: int = Field(gt=0)
    num_hidden_layers: int = Field(gt=0)
    hidden_act: str
    layer_norm_eps: float = Field(gt=0)


class SentenceEncoder:
    """A sentence transformer from a folder: config.json, model.safetensors, tokenizer.json."""

    def __init__(self, folder: Path) -> None:
        """Reads the folder.

        Raises:
            FileError: for a file that is missing or not of a BERT with `gelu`.
            PlannerError: without the extra `embed`.
        """
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise PlannerError(
                "the sentence encoder needs the extra `embed`: pip install -e '.[embed]'"
            ) from None
        self._config = _read_config(folder / "config.json")
        self._weights = read_safetensors(folder / "model.safetensors")
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:
            raise FileError(folder / "tokenizer.json", "", f"cannot be read: {error}") from None
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()
        digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
        self._id = f"{folder.name}-{digest[:12]}"

    @property
    def embedder_id(self) -> str:
        """The folder's name and the beginning of its weights' hash."""
        return self._id

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder`."""
        rows = [self._one(text) for text in texts]
        return _unit(np.stack(rows)) if rows else np.zeros((0, self._config.hidden_size), "f4")

    def _one(self, text: str) -> Vectors:
        ids = self._tokenizer.encode(text).ids
        w = self._weights
        x = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][: len(ids)]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._normed(x, "embeddings.LayerNorm")
        for number in range(self._config.num_hidden_layers):
            x = self._layer(x, f"encoder.layer.{number}")
        pooled: Vectors = x.mean(axis=0)
        return pooled

    def _layer(self, x: Vectors, at: str) -> Vectors:
        heads = self._config.num_attention_heads
        length, width = x.shape
        query, key, value = (
            self._linear(x, f"{at}.attention.self.{part}")
            .reshape(length, heads, width // heads)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(width // heads))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attention = scores / scores.sum(axis=-1, keepdims=True)
        mixed = (attention @ value).transpose(1, 0, 2).reshape(length, width)
        x = self._normed(
            x + self._linear(mixed, f"{at}.attention.output.dense"),
            f"{at}.attention.output.LayerNorm",
        )
        inner = _gelu(self._linear(x, f"{at}.intermediate.dense"))
        return self._normed(x + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")

    def _linear(self, x: Vectors, at: str) -> Vectors:
        product: Vectors = x @ self._weights[f"{at}.weight"].T + self._weights[f"{at}.bias"]
        return product

    def _normed(self, x: Vectors, at: str) -> Vectors:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + np.float32(self._config.layer_norm_eps))
        normed: Vectors = scaled * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]
        return normed


def _gelu(x: Vectors) -> Vectors:
    from scipy.special import erf

    activated: Vectors = x * np.float32(0.5) * (1 + erf(x / np.float32(math.sqrt(2))))
    return activated


def _read_config(path: Path) -> _Config:
    try:
        config = _Config.model_validate_json(path.read_bytes())
    except OSError as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    except ValidationError as error:
        raise from_validation(path, error) from None
    if config.model_type != "bert" or config.hidden_act != "gelu":
        raise FileError(path, "model_type", "only a BERT with gelu is understood")
    return config


def read_safetensors(path: Path) -> Mapping[str, Vectors]:
    """The float32 tensors of a file by name, without a `bert.` before it.

    Raises:
        FileError: for a file that cannot be read, or another type of numbers.
    """
    try:
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + size])
        body = memoryview(data)[8 + size :]
        found = {}
        for name, entry in head.items():
            if name == "__metadata__" or entry["dtype"] != "F32":
                continue
            begin, end = entry["data_offsets"]
            tensor = np.frombuffer(body[begin:end], dtype="<f4").reshape(entry["shape"])
            found[name.removeprefix("bert.")] = tensor
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(path, "", f"is no file of tensors: {error}") from None
    if "embeddings.word_embeddings.weight" not in found:
        raise FileError(path, "", "holds no float32 BERT")
    return found
