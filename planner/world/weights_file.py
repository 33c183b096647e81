"""Files of trained weights: safetensors in half precision, with texts in the header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import FileError
from planner.world.files import parse_json, read_bytes, replacing

# The largest that is shipped has 1 MB.
MAX_WEIGHTS_BYTES = 1 << 28
MAX_NAMES = 100_000
_METADATA = "__metadata__"
_FLOATS = frozenset({np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)})

Weights: TypeAlias = dict[str, NDArray[np.float32]]


def read_weights(path: Path) -> tuple[Weights, dict[str, str]]:
    """The weights as float32 by name, all of them finite, and the texts of the header.

    Raises:
        FileError: where the file is missing, too large or cut off, is of another format, or has
            something that is not a finite number of half, single or double precision.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    content = read_bytes(path, MAX_WEIGHTS_BYTES)
    try:
        arrays = load(content)
    # The library raises undocumented exceptions for types that NumPy does not have.
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    weights: Weights = {}
    for name, array in arrays.items():
        if array.dtype not in _FLOATS:
            raise FileError(path, name, f"has numbers of the type {array.dtype}")
        with np.errstate(over="ignore"):
            weights[name] = array.astype(np.float32)
        if not np.isfinite(weights[name]).all():
            raise FileError(path, name, "has values that are not finite")
    # The library has read the header: it is JSON, and its metadata are texts.
    size = int.from_bytes(content[:8], "little")
    header = parse_json(content[8 : 8 + size].decode(), path)
    metadata = header.get(_METADATA) if isinstance(header, dict) else None
    return weights, dict(metadata) if isinstance(metadata, dict) else {}


def require_shapes(
    path: Path, weights: Mapping[str, NDArray[np.float32]], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Compares weights with what a network takes; others may be there too.

    Raises:
        FileError: naming the first that is missing or has another shape.
    """
    for name, shape in shapes.items():
        if name not in weights:
            raise FileError(path, name, "is missing")
        if weights[name].shape != shape:
            raise FileError(path, name, f"expected the shape {shape}, got {weights[name].shape}")


def header_value(path: Path, metadata: dict[str, str], key: str) -> object:
    """Takes a JSON value out of the header's texts.

    Raises:
        FileError: where it is missing, or not JSON.
    """
    if key not in metadata:
        raise FileError(path, key, "is missing")
    try:
        return parse_json(metadata.pop(key), path, key, is_finite=True)
    except FileError as error:
        raise FileError(path, key, f"is not JSON that can be read: {error.reason}") from None


def header_names(path: Path, metadata: dict[str, str], key: str) -> tuple[str, ...]:
    """Takes a list of names, each once, out of the header's texts.

    Raises:
        FileError: where it is something else.
    """
    found = header_value(path, metadata, key)
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise FileError(path, key, "is not a list of names")
    if len(found) > MAX_NAMES:
        raise FileError(path, key, f"has more than {MAX_NAMES} names")
    if len(set(found)) != len(found):
        raise FileError(path, key, "has a name twice")
    return tuple(found)


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
    with replacing(path, make_folder=True) as aside:
        aside.write_bytes(_in_order(save(halves, dict(metadata))))


def _in_order(content: bytes) -> bytes:
    """The file with its header in the order of names."""
    size = int.from_bytes(content[:8], "little")
    ordered = json.dumps(
        json.loads(content[8 : 8 + size]), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    header = ordered.encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]
