"""The JSON Schemas of house and episode files, published in docs/schema/.

`python scripts/house_schemas.py docs/schema` regenerates them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pydantic import BaseModel

from planner.world.episode import Episode
from planner.world.house import House

_MODELS: dict[str, type[BaseModel]] = {"house.schema.json": House, "episode.schema.json": Episode}


def schema_texts() -> dict[str, str]:
    """The texts of the schema files by name."""
    return {
        name: json.dumps(model.model_json_schema(), indent=2, sort_keys=True) + "\n"
        for name, model in _MODELS.items()
    }


def write_schemas(folder: Path) -> None:
    """Writes all schemas into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schema_texts().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
