"""Copies this checkout without papers, Spot or Habitat: what is left is a repository of its own.

    python3 scripts/core_copy.py ../planner-core
    python3 scripts/core_copy.py ../planner-spot --without papers sim_bridge/habitat
    cd ../planner-core && make test && make demo

Left out are the folders, their tests, benchmarks and scripts that import them, and what stands in
pyproject.toml about them: entry points, walls and paths. All else is copied that git knows of, as
it is in the working tree; the documentation stays that of the whole checkout.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
APART = ("papers", "sim_bridge/spot", "sim_bridge/habitat")
# What is read by hand, or measures: no part of the product, and left out where it imports such a
# folder.
BESIDE = ("benchmarks/", "scripts/")


def main(words: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path, help="folder to make")
    parser.add_argument(
        "--without",
        nargs="+",
        default=APART,
        choices=APART,
        metavar="FOLDER",
        help=f"of {', '.join(APART)}; by default all",
    )
    args = parser.parse_args(words)
    if args.target.exists():
        return fail(f"{args.target}: exists already")
    without: Sequence[str] = args.without
    if "sim_bridge/habitat" in without and "papers" not in without:
        return fail("PARTNR's episodes lie in Habitat's scenes: leave out papers as well")
    for name in files():
        if not is_left_out(name, without):
            (args.target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, args.target / name, follow_symlinks=False)
    project = args.target / "pyproject.toml"
    project.write_text(without_mentions(project.read_text(encoding="utf-8"), without), "utf-8")
    print(f"{args.target}: without {', '.join(without)}")
    return 0


def files() -> list[str]:
    """Of the working tree: those that git knows of or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in set(listed.split("\0")) if name and (ROOT / name).exists())


def is_left_out(name: str, without: Sequence[str]) -> bool:
    """Whether a file lies in one of the folders, holds its tests, or is beside and imports it."""
    within = ("", "test/", "test/integration/")
    if any(name.startswith(f"{top}{folder}/") for folder in without for top in within):
        return True
    if not name.startswith(BESIDE) or not name.endswith(".py"):
        return False
    return imports_any((ROOT / name).read_text(encoding="utf-8"), without)


def imports_any(text: str, folders: Sequence[str]) -> bool:
    """Whether a module imports one of the folders, be it within a function."""
    modules = "|".join(re.escape(folder.replace("/", ".")) for folder in folders)
    return re.search(rf"^ *(?:from|import) (?:{modules})\b", text, re.MULTILINE) is not None


def without_mentions(text: str, without: Sequence[str]) -> str:
    """pyproject.toml without entry points of these folders, and lists without their names."""
    for folder in without:
        module = re.escape(folder.replace("/", "."))
        text = re.sub(rf'^\S+ = "{module}[.:][^"]*"\n', "", text, flags=re.MULTILINE)
        # An element of a list, with the line that it may have for itself: a module, a rule of
        # the walls about it, or a path of its tests.
        path = rf'(?:test/(?:integration/)?)?{re.escape(folder)}(?=[/"])'
        element = rf'"(?:[^"\n]* )?(?:{module}\b|{path})[^"\n]*",?'
        text = re.sub(rf"^ *{element}\n", "", text, flags=re.MULTILINE)
        text = re.sub(rf"(?:(?<=\[)|(?<=, )){element} ?", "", text)
    # Walls around nothing.
    contract = r"\[\[tool\.importlinter\.contracts\]\]\n(?:(?!\[\[).*\n)*?"
    return re.sub(
        rf"{contract}(?:protected_modules|modules) = \[\s*\]\n(?:(?!\[).*\n|\n)*", "", text
    )


def fail(reason: str) -> int:
    """Says why nothing was copied."""
    print(f"core_copy: error: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
