"""The recipe of a training run, kept in its folder so that no other one goes on there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from planner.world.errors import FileError
from planner.world.files import read_document


def check_recipe(path: Path, wanted: Mapping[str, object]) -> None:
    """Writes the recipe of a new folder, and refuses the folder of another one.

    Raises:
        FileError: naming the first value that differs.
    """
    if not path.exists():
        path.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
        return
    known = read_document(path)
    for name, value in wanted.items():
        got = known.get(name) if isinstance(known, dict) else None
        if got != value:
            raise FileError(path, name, f"expected {value} as asked, got {got} of before")
