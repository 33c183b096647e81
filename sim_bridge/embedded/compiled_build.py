"""How cffi makes `_compiled` of the C files of this folder; setup.py runs this."""

from __future__ import annotations

from pathlib import Path

from cffi import FFI

# From the folder of setup.py, as setuptools wants it.
_FOLDER = Path("sim_bridge/embedded")

ffibuilder = FFI()
ffibuilder.cdef((_FOLDER / "looks.h").read_text())
ffibuilder.set_source(
    "sim_bridge.embedded._compiled",
    '#include <stdint.h>\n#include "looks.h"\n',
    sources=[str(_FOLDER / name) for name in ("looks.c", "screens.c")],
    include_dirs=[str(_FOLDER)],
    depends=[str(_FOLDER / "looks.h")],
    # Products and sums are not fused, so that every machine finds the same.
    extra_compile_args=["-O2", "-std=c99", "-ffp-contract=off", "-fno-math-errno"],
    libraries=["m"],
)
