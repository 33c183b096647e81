"""Counts the training houses for `et_agent`'s frequency table.

Repeat with: python scripts/et_frequencies.py
"""

from __future__ import annotations

import json

from papers.et_plan_bench.generation.categories import HomeSplit, homes
from papers.et_plan_bench.rankers import counted, shipped_frequencies_file


def text() -> str:
    """The file's content."""
    houses = (home.make() for home in homes(HomeSplit.TRAIN))
    document = counted(houses).model_dump(mode="json")
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    shipped_frequencies_file().write_text(text(), encoding="utf-8")
