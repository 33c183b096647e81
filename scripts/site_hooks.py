"""What makes a site of pages that are also read on GitHub (mkdocs.yml).

The files of the root become pages, with their links changed to where things are on the site, and a
list has the empty line before it that Python-Markdown wants and GitHub does not.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[1]
# Files of the root, and the pages that they become.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
# Files that are no pages.
COPIED = ("LICENSE", "CITATION.cff")
_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
_ITEM = re.compile(r"^(?:[*+-]|\d+\.) ")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Names places of headings as GitHub does."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files of the root."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_moved(text)))
    for name in COPIED:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, **_more: Any) -> str:
    """Sets lists off from the paragraph before them."""
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        fenced ^= line.lstrip().startswith("```")
        before = lines[-1] if lines else ""
        begins = _ITEM.match(line) and before.strip() and not before.startswith(" ")
        if not fenced and begins and not _in_list(lines):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _in_list(lines: list[str]) -> bool:
    """Whether the paragraph that ends here is an item of a list."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if _ITEM.match(line):
            return True
        if not line.startswith(" "):
            return False
    return False


def _moved(text: str) -> str:
    """The text of a file of the root with its links as they are from docs/."""

    def place(match: re.Match[str]) -> str:
        target = match[2]
        if target in PAGES:
            target = PAGES[target]
        elif target not in COPIED:
            target = posixpath.relpath(target, "docs")
        return f"{match[1]}{target}{match[3]}"

    return re.sub(r'(<img [^>]*src=")docs/', r"\1", _LINK.sub(place, text))
