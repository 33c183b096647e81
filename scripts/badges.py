#!/usr/bin/env python3
"""The README's badges, from the files that they are about: `scripts/badges.py docs/badges`.

They are files of the repository: a page that shows them asks no other server.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Width of a letter of 11 px, about.
_LETTER_PX = 6.6
_PAD_PX = 8


def facts() -> Mapping[str, tuple[str, str]]:
    """What each badge says: a word, and what the files say about it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    licence = re.search(r'license="([^"]+)"', setup)
    python = re.search(r'python_requires=">=3\.(\d+),<3\.(\d+)"', setup)
    if licence is None or python is None:
        raise SystemExit("setup.py: expected license and python_requires")
    versions = [f"3.{minor}" for minor in range(int(python[1]), int(python[2]))]
    types = "mypy strict" if project["tool"]["mypy"]["strict"] else "mypy"
    return {
        "licence": ("licence", licence[1]),
        "python": ("python", " | ".join(versions)),
        "types": ("types", types),
        "version": ("version", project["project"]["version"]),
    }


def badge(word: str, value: str) -> str:
    """One badge as SVG."""
    left = round(len(word) * _LETTER_PX + 2 * _PAD_PX)
    right = round(len(value) * _LETTER_PX + 2 * _PAD_PX)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{word}: {value}">'
        f'<rect width="{left + right}" height="20" rx="4" fill="#3a4150"/>'
        f'<path d="M{left} 0h{right - 4}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4H{left}z" fill="#1e5ac8"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{word}</text>'
        f'<text x="{left + right / 2:g}" y="14">{value}</text></g></svg>\n'
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (word, value) in facts().items():
        (folder / f"{name}.svg").write_text(badge(word, value), encoding="utf-8")
