"""The compiled part, and arrays as it takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import FloatArray

try:
    from sim_bridge.embedded._compiled import ffi as ffi
    from sim_bridge.embedded._compiled import lib as lib
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error}: it is not compiled; run `make setup` or `python setup.py build_ext --inplace`"
    ) from error

if TYPE_CHECKING:
    from sim_bridge.embedded._compiled import Floats, Integers


def floats(array: FloatArray) -> Floats:
    """A C-contiguous array of doubles as C sees it, which it keeps alive."""
    return ffi.from_buffer("double[]", array)


def indices(array: NDArray[np.intp]) -> Integers:
    """The same of row numbers."""
    return ffi.from_buffer("intptr_t[]", array)


def numbers(array: NDArray[np.int32]) -> Integers:
    """The same of 32-bit numbers."""
    return ffi.from_buffer("int32_t[]", array)


def flags(array: NDArray[np.bool_]) -> Integers:
    """The same of truth values, a byte each."""
    return ffi.from_buffer("uint8_t[]", array)
