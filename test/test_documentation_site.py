"""The documentation as a site: `make docs` makes it of the pages, without a warning."""

from __future__ import annotations

import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGES = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
OF_THE_ROOT = {Path(f"{name}.md") for name in ("index", "contributing", "changelog", "security")}


class _Links(HTMLParser):
    """What a page leads to and what it loads, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.has_diagram = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.has_diagram |= "mermaid" in (named.get("class") or "").split()
        self.ids |= {value for key in ("id", "name") if (value := named.get(key))}
        if tag == "a" and named.get("href"):
            self.targets.append(str(named["href"]))
        source = named.get("src") or (named.get("href") if tag == "link" else None)
        if source:
            self.loaded.append(source)


def listed(entries: list[object]) -> set[Path]:
    """The pages of a navigation."""
    found: set[Path] = set()
    for entry in entries:
        if isinstance(entry, dict):
            for below in entry.values():
                found |= listed(below)
        else:
            found.add(Path(str(entry)))
    return found


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    assert listed(yaml.safe_load(text)) == PAGES | OF_THE_ROOT


def test_no_page_needs_a_script_of_another_server() -> None:
    """The theme gets mermaid from elsewhere as soon as a page has a diagram in it."""
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    assert [page for page in pages if "```mermaid" in page.read_text(encoding="utf-8")] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    environment = {**os.environ, "PLANNER_DOCS_VENV": str(tmp_path / "venv")}
    site = tmp_path / "site"
    script = str(ROOT / "scripts" / "docs.sh")
    done = subprocess.run([script, str(site)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path: _Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    made = {path.relative_to(site).with_suffix(".md") for path in pages}
    assert made >= PAGES | OF_THE_ROOT
    broken = []
    for path, links in pages.items():
        if path.name == "404.html":
            continue
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = place / "index.html" if place.is_dir() else place
            known = pages[place].ids if place in pages else set()
            if not place.exists() or (parts.fragment and unquote(parts.fragment) not in known):
                broken.append((path.name, target))
        # A page asks no other server for its letters, pictures or scripts.
        assert [name for name in links.loaded if urlsplit(name).netloc] == [], path
        # The theme's script would get mermaid for it.
        assert not links.has_diagram, path
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import )[\"']?(https?:)?//", sheet.read_text("utf-8")), sheet
    assert broken == []
