"""The built page: made from the sources that are here, and with no way for markup to come in."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WEB = ROOT / "planner" / "console" / "web"
BUILT = ROOT / "planner" / "console" / "static" / "console.js"
SHARED = ROOT / "planner" / "replay" / "report" / "assets"


def sources() -> list[Path]:
    """In the order of build.mjs."""
    return [*sorted((WEB / "src").iterdir()), SHARED / "dom.js", SHARED / "floor_plan.js"]


def test_it_was_built_from_these_sources() -> None:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources())).hexdigest()
    assert digest in BUILT.read_text().splitlines()[0], "cd planner/console/web && npm run build"


def test_building_gives_the_same_file(tmp_path: Path) -> None:
    if shutil.which("node") is None or not (WEB / "node_modules").is_dir():
        pytest.skip("no node, or npm ci was not run in planner/console/web")
    built = tmp_path / "console.js"
    subprocess.run(["node", "build.mjs", str(built)], cwd=WEB, check=True, timeout=60)
    assert built.read_bytes() == BUILT.read_bytes()


@pytest.mark.parametrize(
    "way", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
)
def test_no_text_can_become_markup_or_code(way: str) -> None:
    for path in sources():
        assert way not in path.read_text(), path
    assert way not in BUILT.read_text()


def test_the_page_loads_nothing_from_elsewhere() -> None:
    page = (BUILT.parent / "index.html").read_text()
    assert re.findall(r'(?:src|href)="([^"#]+)"', page) == [
        "icon.svg",
        "console.css",
        "console.js",
    ]
    assert not re.search(r"\son\w+=|<script>|style=", page)
    assert "url(" not in (BUILT.parent / "console.css").read_text()
