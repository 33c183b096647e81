"""Describes the machine and prints a benchmark's table, so that every figure comes with it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def describe_machine() -> str:
    """Processor, cores, system, Python and how busy the machine is, in one line."""
    model = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.split(":", 1)[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    load = os.getloadavg()[0]
    system = f"{platform.system()} {platform.release()}"
    return (
        f"{model}, {os.cpu_count()} cores, {system}, Python {platform.python_version()}, "
        f"load {load:.1f}"
    )


def print_table(title: str, rows: Sequence[tuple[str, str, str]]) -> None:
    """Prints (what, measured, wanted) rows under the machine's description."""
    print(f"{title}\nmachine: {describe_machine()}")
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print(
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        )


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes that only keep the CPU busy."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
