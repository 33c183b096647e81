"""Names of our modules and files in documentation, comments and texts against what there is."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOTTED = re.compile(r"(?<![\w/.-])((?:planner|sim_bridge)(?:\.[a-z_]\w*)+)(?::(\w+))?")
FILE = re.compile(r"(?<![\w/.-])((?:planner|sim_bridge|test|config|scripts)/[\w/]+\.py)(?!\w)")
# A file by its name alone, as pages of one folder's files do.
BARE = re.compile(r"`([a-z][a-z0-9_]*\.py)`")
# Pages that name files of others beside ours.
OTHERS = {"docs/spot.md"}
READ = {".py", ".md", ".toml", ".yaml", ".yml", ".js", ".ts", ".sh", ".xml", ""}
# Made where it is built.
BUILT = "sim_bridge.embedded._compiled"
# Attributes of objects that tests call `planner`, no modules.
OBJECTS = {"line", "client", "choice", "process", "_budget"}


def tracked() -> list[str]:
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("not a git checkout")
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


@cache
def modules() -> dict[str, Path]:
    found = {}
    for name in tracked():
        if name.endswith(".py") and name.partition("/")[0] in ("papers", "planner", "sim_bridge"):
            found[name[:-3].replace("/", ".").removesuffix(".__init__")] = ROOT / name
    return found


@cache
def names_of(module: str) -> frozenset[str]:
    found = set()
    for node in ast.walk(ast.parse(modules()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return frozenset(found)


def problem(dotted: str, attribute: str) -> str:
    """What is wrong with `dotted` or `dotted:attribute`; "" = nothing."""
    parts, count = dotted.split("."), dotted.count(".") + 1
    while count and ".".join(parts[:count]) not in modules():
        count -= 1
    rest = [*parts[count:], *([attribute] if attribute else [])]
    if count < 2:
        # `planner.run` and the like are of the package itself, `planner.py` is a file.
        known = len(parts) < 3 or parts[1] in OBJECTS or parts[1].startswith("__")
        return "" if known else "no such module"
    missing = rest and rest[0] not in names_of(".".join(parts[:count]))
    return f"no {rest[0]} there" if missing and rest[0] not in ("py", "so", "toml") else ""


@pytest.mark.needs("papers", "sim_bridge/spot", "sim_bridge/habitat")
def test_every_name_of_ours_that_is_mentioned_exists() -> None:
    wrong, count = [], 0
    for name in tracked():
        path = ROOT / name
        if path.suffix not in READ or name in ("CHANGELOG.md", "test/test_mentioned_names.py"):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for found in DOTTED.finditer(text):
            count += 1
            if not found[1].startswith(BUILT) and (why := problem(found[1], found[2] or "")):
                wrong.append(f"{name}: {found[0]}: {why}")
        for found in FILE.finditer(text):
            count += 1
            if not (ROOT / found[1]).is_file():
                wrong.append(f"{name}: {found[0]}: no such file")
    assert wrong == []
    assert count > 4000


def test_every_file_that_a_page_names_alone_exists() -> None:
    names = tracked()
    files = {Path(name).name for name in names if name.endswith(".py")}
    pages = [name for name in names if name.endswith(".md")]
    alone = {
        (page, found)
        for page in pages
        if page not in OTHERS | {"CHANGELOG.md"}
        for found in BARE.findall((ROOT / page).read_text(encoding="utf-8"))
    }
    assert sorted((page, file) for page, file in alone if file not in files) == []
    assert len(alone) > 50


@pytest.mark.parametrize(
    ("dotted", "attribute"),
    [("planner.world.nowhere.thing", ""), ("planner.world.errors", "NoSuchError")],
)
def test_a_name_that_does_not_exist_is_noticed(dotted: str, attribute: str) -> None:
    assert problem(dotted, attribute)


def test_a_name_that_exists_is_not() -> None:
    assert not problem("planner.world.errors.PlannerError", "")
