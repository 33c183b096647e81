"""Sentence vectors, for finding similar tasks.

`SentenceEncoder` runs a sentence transformer with mean pooling, such as all-MiniLM-L6-v2, from its
ONNX file; it needs the extra `embed`. `TransformersEncoder` runs one from a folder of
`transformers`, such as one that was trained here; it needs the extra `local`. `HashedWords` needs
nothing and only compares words; results name it wherever it is used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import FileError, PlannerError
from planner.world.files import read_bytes

Vectors = NDArray[np.float32]
_WORD = re.compile(r"[^\W_]+")
_DIMENSIONS = 512
# The maximum input of the paper and of all-MiniLM.
_MAX_TOKENS = 256
_BATCH = 64


class Embedder(Protocol):
    """Turns sentences into vectors of length one."""

    @property
    def embedder_id(self) -> str:
        """Stored with vectors, since those of different embedders cannot be compared."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, float32, each of length one (zeros for a text without words)."""


class HashedWords:
    """Lexical: hashed words and letter triples, no meaning. Always available."""

    embedder_id = f"hashed-words-{_DIMENSIONS}"

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


class SentenceEncoder:
    """A sentence transformer from a folder: onnx/model.onnx and tokenizer.json, mean pooling."""

    def __init__(self, folder: Path) -> None:
        """Reads the folder.

        Raises:
            FileError: for a file that is missing or not of a sentence transformer.
            PlannerError: without the extra `embed`.
        """
        try:
            from onnxruntime import InferenceSession
            from tokenizers import Tokenizer
        except ImportError:
            raise PlannerError(
                "the sentence encoder needs the extra `embed`: pip install -e '.[embed]'"
            ) from None
        model, words = folder / "onnx" / "model.onnx", folder / "tokenizer.json"
        # The libraries' errors have no common base class.
        try:
            content = read_bytes(model)
            self._session = InferenceSession(content, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise FileError(model, "", f"cannot be read: {error}") from None
        try:
            self._tokenizer = Tokenizer.from_file(str(words))
        except Exception as error:
            raise FileError(words, "", f"cannot be read: {error}") from None
        self._inputs = [item.name for item in self._session.get_inputs()]
        unknown = sorted(set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"})
        if unknown:
            raise FileError(model, unknown[0], "is an input that no sentence has")
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()
        self.embedder_id = f"{folder.name}-{hashlib.sha256(content).hexdigest()[:12]}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder`."""
        rows = [self._one(text) for text in texts]
        return _unit(np.stack(rows)) if rows else np.zeros((0, 0), np.float32)

    def _one(self, text: str) -> Vectors:
        ids = np.array([self._tokenizer.encode(text).ids], np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        states = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        pooled: Vectors = states[0].mean(axis=0)
        return pooled


class TransformersEncoder:
    """A sentence transformer of `transformers` from a folder, on the CPU, with mean pooling."""

    def __init__(self, folder: Path) -> None:
        """Loads the folder.

        Raises:
            FileError: for a folder without an encoder and its tokenizer.
            PlannerError: without torch and transformers.
        """
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise PlannerError(
                "an encoder of transformers needs the extra `local`: pip install -e '.[local]'"
            ) from None
        try:
            self._model = AutoModel.from_pretrained(folder, local_files_only=True).eval()
            self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            content = (folder / "model.safetensors").read_bytes()
        except (OSError, ValueError) as error:
            raise FileError(folder, "", f"cannot be loaded: {error}") from None
        self._torch = torch
        self.embedder_id = f"{folder.name}-{hashlib.sha256(content).hexdigest()[:12]}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder`."""
        rows = [self._batch(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        return _unit(np.concatenate(rows)) if rows else np.zeros((0, 0), np.float32)

    def _batch(self, texts: Sequence[str]) -> Vectors:
        inputs = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=_MAX_TOKENS, return_tensors="pt"
        )
        with self._torch.inference_mode():
            states = self._model(**inputs).last_hidden_state
        mask = inputs["attention_mask"].unsqueeze(-1)
        pooled = (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        rows: Vectors = pooled.float().cpu().numpy().astype(np.float32)
        return rows


@lru_cache(maxsize=1)
def load_encoder(folder: Path) -> Embedder:
    """The sentence encoder of a folder: from its ONNX file, else by `transformers`.

    Cached: every task needs it, and loading takes longer than encoding.

    Raises:
        FileError: for a folder without an encoder.
        PlannerError: without the extra that it needs.
    """
    if (folder / "onnx" / "model.onnx").is_file():
        return SentenceEncoder(folder)
    if not (folder / "config.json").is_file():
        raise FileError(
            folder, "", "is not a sentence encoder: no onnx/model.onnx and no config.json"
        )
    return TransformersEncoder(folder)
