"""The JSON Schemas of rows and dialogues, published in docs/schema/.

`python -m planner.bench.runs.schemas docs/schema` regenerates them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from planner.bench.runs.rows import Row
from planner.models.dialogue_file import LINES


def schema_texts() -> Mapping[str, str]:
    """The text of each schema file by name."""
    schemas = {
        "bench_row.schema.json": {"title": "One row of a benchmark", **Row.model_json_schema()},
        "dialogue.schema.json": {"title": "One line of a dialogue", **LINES.json_schema()},
    }
    return {
        name: json.dumps(schema, indent=2, sort_keys=True) + "\n"
        for name, schema in schemas.items()
    }


if __name__ == "__main__":
    for name, text in schema_texts().items():
        (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")
