"""The published schemas are those of the models that read the files."""

from __future__ import annotations

from pathlib import Path

import pytest
from house_schemas import schema_texts, write_schemas

PUBLISHED = Path(__file__).resolve().parents[1] / "docs" / "schema"


@pytest.mark.parametrize("name", sorted(schema_texts()))
def test_published_schema_is_current(name: str) -> None:
    assert (PUBLISHED / name).read_text(encoding="utf-8") == schema_texts()[name], (
        "run: python scripts/house_schemas.py docs/schema"
    )


def test_writes_every_schema(tmp_path: Path) -> None:
    write_schemas(tmp_path / "new")
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(schema_texts())
