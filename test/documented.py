"""The commands that the pages show, as test_documented_commands.py explains."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))


def commands(page: Path) -> list[str]:
    """The commands of a page, continued lines joined, comments and ways to `planner` left out."""
    found = []
    for kind, block in re.findall(r"```(bash|console)\n(.*?)```", page.read_text("utf-8"), re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if kind == "console":
                line = line.removeprefix("$ ") if line.startswith("$ ") else ""
            line = re.sub(r"\s+#.*|^#.*", "", line).strip()
            if line:
                found.append(re.sub(r"^(\.venv/bin/|install/planner/lib/planner/)", "", line))
    return found


SHOWN = sorted({command for page in PAGES for command in commands(page)})
