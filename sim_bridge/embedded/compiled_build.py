"""Builds `_compiled` from the C files of this folder with cffi; run by setup.py."""

from __future__ import annotations

from pathlib import Path

from cffi import FFI

# Relative to setup.py, as setuptools requires.
_FOLDER = Path("sim_bridge/embedded")
_HEADERS = ("looks.h", "depth.h", "ways.h")
_SOURCES = ("depth.c", "looks.c", "screens.c", "ways.c")

ffibuilder = FFI()
ffibuilder.cdef("".join((_FOLDER / name).read_text() for name in _HEADERS))
ffibuilder.set_source(
    "sim_bridge.embedded._compiled",
    "".join(f"#include {name}\n" for name in ("<stdint.h>", *(f'"{h}"' for h in _HEADERS))),
    sources=[str(_FOLDER / name) for name in _SOURCES],
    include_dirs=[str(_FOLDER)],
    depends=[str(_FOLDER / name) for name in _HEADERS],
    # No fused multiply-add, so that every machine gets the same results.
    extra_compile_args=["-O2", "-std=c99", "-ffp-contract=off", "-fno-math-errno"],
    libraries=["m"],
)
