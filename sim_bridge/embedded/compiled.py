"""Loads the compiled part, and converts arrays to its types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.geometry import FloatArray


class NotCompiledError(PlannerError, ImportError):
    """The compiled part cannot be loaded; the message says what to do."""


try:
    from sim_bridge.embedded._compiled import ffi as ffi
    from sim_bridge.embedded._compiled import lib as lib
except ImportError as error:
    if error.name == "_cffi_backend":
        cure = "pip install cffi"
    else:
        cure = (
            "run `make setup`, or where setup.py is `python setup.py build_ext --inplace`, which "
            "take cffi and a C compiler"
        )
    raise NotCompiledError(
        f"the simulator's compiled part cannot be loaded ({error}): {cure}"
    ) from error

if TYPE_CHECKING:
    from sim_bridge.embedded._compiled import Floats, Integers


def floats(array: FloatArray) -> Floats:
    """A C-contiguous array of doubles as a C pointer, which keeps it alive."""
    return ffi.from_buffer("double[]", array)


def indices(array: NDArray[np.intp]) -> Integers:
    """The same for row numbers."""
    return ffi.from_buffer("intptr_t[]", array)


def numbers(array: NDArray[np.int32]) -> Integers:
    """The same for 32-bit integers."""
    return ffi.from_buffer("int32_t[]", array)


def flags(array: NDArray[np.bool_]) -> Integers:
    """The same for booleans, one byte each."""
    return ffi.from_buffer("uint8_t[]", array)
