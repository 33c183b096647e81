"""Files of trained weights: safetensors in half precision, with texts in the header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import FileError


def read_weights(path: Path) -> tuple[dict[str, NDArray[np.float32]], dict[str, str]]:
    """The weights as float32 by name, and the texts of the header.

    Raises:
        FileError: where the file is missing or cut off, or is of another format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="np") as file:
            metadata: dict[str, str] = dict(file.metadata() or {})
            weights = {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    return weights, metadata


def write_weights(
    path: Path, weights: Mapping[str, NDArray[np.floating]], metadata: Mapping[str, str]
) -> None:
    """Writes a file whole or not at all; equal contents give equal bytes.

    Raises:
        FileError: where it cannot be written.
    """
    from safetensors.numpy import save

    # The library writes memory as it lies, so transposed views must be laid out first.
    halves = {n: np.ascontiguousarray(w, np.float16) for n, w in weights.items()}
    aside = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(_in_order(save(halves, dict(metadata))))
        aside.replace(path)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error}") from None


def _in_order(content: bytes) -> bytes:
    """The file with its header in the order of names."""
    size = int.from_bytes(content[:8], "little")
    ordered = json.dumps(
        json.loads(content[8 : 8 + size]),
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    header = ordered.encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]
