"""How decisions are cited: `PARTNR-D49`, as docs/decisions.md explains."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAPERS = ("PARTNR", "EPM", "LLAMAR", "HELPER", "ETPLAN")
_ID = rf"(?:{'|'.join([*PAPERS, 'DEFECT', 'SPOT'])})-[A-Z]?[0-9]+(?:\.[0-9]+)*"
CITATION = re.compile(rf"(?<![\w-]){_ID}\b")
_RANGE = re.compile(rf"(?<![\w-])({_ID})\s+to\s+({_ID})\b")
_ENTRY = re.compile(rf'^- <a id="([^"]*)"></a>\*\*({_ID})\*\* \S', re.MULTILINE)
_PARTS = re.compile(r"^(.*?)([0-9]+)$")


def pages() -> list[Path]:
    """The pages that hold the entries."""
    docs = ROOT / "docs"
    return [docs / "decisions.md", *sorted((docs / "decisions").glob("*.md"))]


def entries(page: Path) -> list[tuple[str, str]]:
    """The entries of a page, as (anchor, id)."""
    return _ENTRY.findall(page.read_text(encoding="utf-8"))


def cited(text: str) -> set[str]:
    """The ids that a text cites; the ends of ranges, not what lies between."""
    return set(CITATION.findall(text))


def backward_ranges(text: str) -> list[str]:
    """Ranges whose ends are of different kinds, or do not rise."""
    found = []
    for first, last in _RANGE.findall(text):
        (kind, low), (other, high) = (_PARTS.match(end).groups() for end in (first, last))
        if kind != other or int(low) >= int(high):
            found.append(f"{first} to {last}")
    return found
