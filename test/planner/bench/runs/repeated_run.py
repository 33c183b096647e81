"""A run, and one of a model that says the same again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from run_scripts import write_scripts

from planner.cli import main


def run_and_repeat(folder: Path, words: Sequence[str]) -> tuple[Path, Path]:
    """Both runs, of the privileged baseline first.

    Args:
        folder: where.
        words: the command without planner and output.
    """
    base, said = folder / "base", folder / "said"
    assert main([*words, "--planner", "heuristic_expert", "--out", str(base)]) == 0
    write_scripts(base, folder / "scripts")
    model = f"scripted:{folder / 'scripts'}"
    assert main([*words, "--planner", "partnr_react", "--model", model, "--out", str(said)]) == 0
    return base, said
