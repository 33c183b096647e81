"""The architecture's page, the tour and papers' pages against the tree: paths, names, walls."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from planner.bench.runs.paper import TABLES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
WORDS = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
PATHS = [
    word
    for word in WORDS
    if re.fullmatch(r"[a-z_/]+/|(?:[a-z_]+/)+[a-z_.]+\.(?:py|md)|[a-z]+\.toml", word)
]
TOPICS = sorted(
    {word for word in WORDS if re.fullmatch(r"(?:/|agent_N/)[a-z_/]+", word)}
    | set(re.findall(r'(?:/|agent_N/)[a-z_]+(?:/[a-z_]+)*(?=[",])', PAGE))
)

ENDS = re.compile(
    "(?:" + "|".join(sorted({name.rsplit("/", 1)[1] for name in TOPICS})) + r")/?[\"']"
)


@cache
def names_in_code() -> frozenset[str]:
    """Strings of the code that may be topics of the page.

    As (part/part/...), with * for what a formatted string fills in.
    """
    found = set()
    for package in ("papers", "planner", "sim_bridge"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            # Parsing all of the code takes seconds, and few strings end as a topic does.
            if not ENDS.search(text):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(node.value.strip("/"))
                elif isinstance(node, ast.JoinedStr):
                    parts = [
                        str(p.value) if isinstance(p, ast.Constant) else "*" for p in node.values
                    ]
                    found.add("".join(parts).strip("/"))
    return frozenset(name for name in found if re.fullmatch(r"[\w*/]+", name))


def is_in_code(topic: str) -> bool:
    """Whether some string of the code is this name, relative or not, its agent left open."""
    wanted = topic.strip("/").split("/")
    forms = [wanted] if wanted[0] != "agent_N" else [["*", *wanted[1:]], wanted[1:]]
    return any(matches(form, name.split("/")) for form in forms for name in names_in_code())


def matches(wanted: list[str], name: list[str]) -> bool:
    # The last part is what a name is about, so that it is never left open.
    return (
        len(wanted) == len(name)
        and wanted[-1] == name[-1]
        and wanted[0] == name[0]
        and all(b in (a, "*") for a, b in zip(wanted[1:-1], name[1:-1], strict=True))
    )


def test_the_page_names_enough_to_be_checked() -> None:
    assert len(PATHS) > 25
    assert len(TOPICS) > 15


@pytest.mark.needs("papers", "sim_bridge/spot", "sim_bridge/habitat")
@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_is_in_the_code(topic: str) -> None:
    assert is_in_code(topic)


@pytest.mark.parametrize(
    "topic", ["/memory/entity", "agent_N/camera/hand/picture", "/lockstep/judge"]
)
def test_a_topic_that_does_not_exist_is_noticed(topic: str) -> None:
    assert not is_in_code(topic)


def test_every_node_is_named() -> None:
    for node in (ROOT / "nodes").iterdir():
        assert f"`{node.name}`" in PAGE


def test_the_layers_are_those_of_import_linter() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    table = PAGE.partition("| layer, top first |\n|---|\n")[2].partition("\n\n")[0]
    assert [re.findall(r"`(\w+)`", row) for row in table.splitlines()] == layers


def test_the_walls_name_what_import_linter_forbids() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    walls = PAGE.partition("- `planner/world/` is")[2].partition("\n## ")[0]
    for contract in project["tool"]["importlinter"]["contracts"]:
        if contract["name"].startswith("ROS"):
            assert all(f"`{module}`" in walls for module in contract["forbidden_modules"])
        if "sim_bridge" in contract.get("forbidden_modules", ()):
            composing = {rule.split()[0].removesuffix(".**") for rule in contract["ignore_imports"]}
            assert all(f"`{name.replace('.', '/')}" in walls for name in composing)


BUDGETS = {
    folder: int(lines.replace(",", ""))
    for folder, lines in re.findall(
        r"^\| `([a-z_/]+/)` \| ([\d,]+) \| [\d,]+ \|", PAGE, re.MULTILINE
    )
}


def lines_in(folder: str) -> int:
    files = (ROOT / folder).rglob("*.py")
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


@pytest.mark.parametrize("folder", BUDGETS)
def test_no_folder_outgrows_its_budget(folder: str) -> None:
    assert lines_in(folder) <= BUDGETS[folder]


def test_all_folders_together_keep_their_budget() -> None:
    (total,) = re.findall(r"All together may have ([\d,]+) lines", PAGE)
    assert len(BUDGETS) > 20
    tops = ("papers", "planner", "sim_bridge")
    assert sum(map(lines_in, tops)) <= int(total.replace(",", ""))


# Papers and Habitat as identifiers and texts of the core, docstrings aside, which name sources.
A_PAPERS_NAME = re.compile(
    r"llamar|rescue_|partnr|epm|et_?plan|et_agent|virtualhome|hssd|habitat", re.IGNORECASE
)
OF_A_PAPER = ("sim_bridge/spot/", "sim_bridge/habitat/")
# What users write or read, and files that ship: published names, which stay.
PUBLISHED_NAMES = {
    "planner/bench/memory_data.py": "epm",  # The kind of a data set, in its manifest.
    "planner/bench/runs/all_cli.py": "partnr_test",  # The default of `planner bench all`.
    "planner/commands/planner_recipe.py": "partnr",  # The generator of `planner train planner`.
    "planner/commands/planner_training.py": "partnr_finetuned",  # What tuned weights are for.
    "planner/episodes/statistics.py": "PARTNR",  # A column: the paper's own figures.
    "planner/evaluation/metrics/metric.py": "PARTNR",  # Where a metric is defined.
    "planner/evaluation/progress.py": "partnr_v0",  # A mode of evaluation.
    "planner/memory/sightings.py": "partnr",  # A value of the option `visibility`.
    "planner/training/traces/folder.py": "partnr_*.json.gz",  # Suites that ship.
}


def words_in(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_bytes())
    texts = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            yield node.value
        for field in ("id", "attr", "arg", "name", "module"):
            if isinstance(word := getattr(node, field, None), str):
                yield word


def test_the_core_names_papers_in_published_names_alone() -> None:
    named = [
        (str(path.relative_to(ROOT)), word)
        for top in ("planner", "sim_bridge")
        for path in sorted((ROOT / top).rglob("*.py"))
        if not str(path.relative_to(ROOT)).startswith(OF_A_PAPER)
        # Parsing takes seconds, and few files name one, be it in a comment.
        and A_PAPERS_NAME.search(path.read_text(encoding="utf-8"))
        for word in words_in(path)
        if A_PAPERS_NAME.search(word)
    ]
    assert sorted(named) == sorted(PUBLISHED_NAMES.items())


# The papers' pages, each with a table of mechanisms: files, with names if there is something to
# point at.
PAPERS = {
    page.stem: page.read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs" / "papers").glob("*.md"))
}
MECHANISMS = [
    (paper, path, names)
    for paper, page in PAPERS.items()
    for row in re.findall(r"^\| .* \| (`.*`) \|$", page, re.MULTILINE)
    for path, names in re.findall(r"`([\w/]+\.py)`(?:: ((?:`\w+`(?:, )?)+))?", row)
]
# Of the tour: a stop is (path, what is to be looked at there), each hunt's answer a list of stops.
STOPS = re.findall(r"^\| \d+ \| `([^`]+)` \| [^|]*\? \| (.*) \|$", TOUR, re.MULTILINE)
HUNTS = [
    re.findall(r"^- `([^`]+)`: (.*(?:\n  .*)*)", answer, re.MULTILINE)
    for answer in re.findall(r"<details markdown=\"1\">\n(.*?)</details>", TOUR, re.DOTALL)
]


def names_in(path: str) -> set[str]:
    """What a file defines or imports: classes, functions, fields and constants."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
    return found


def test_the_tour_has_ten_stops_and_five_hunts() -> None:
    assert len(STOPS) == len({path for path, _ in STOPS}) == 10
    assert len(HUNTS) == len(re.findall(r"^### .*\?$", TOUR, re.MULTILINE)) == 5
    assert all(1 <= len(stops) <= 3 for stops in HUNTS)


@pytest.mark.parametrize(("path", "text"), [*STOPS, *(stop for stops in HUNTS for stop in stops)])
def test_what_the_tour_shows_is_where_it_says(path: str, text: str) -> None:
    names = set(re.findall(r"`(\w+)`", text))
    assert names
    assert names - names_in(path) == set()


def imported_modules(tree: ast.Module, known: frozenset[str]) -> Iterator[str]:
    """What a module imports when it is loaded, and for its types only."""
    for outer in tree.body:
        for node in [outer, *outer.body] if isinstance(outer, ast.If) else [outer]:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield inner if inner in known else node.module


def test_no_modules_import_one_another_not_even_for_their_types() -> None:
    files = [
        path for top in ("papers", "planner", "sim_bridge") for path in (ROOT / top).rglob("*.py")
    ]
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in files
    }
    known = frozenset(modules)
    graph = {
        name: known.intersection(imported_modules(ast.parse(path.read_bytes()), known)) - {name}
        for name, path in modules.items()
    }
    assert sum(map(len, graph.values())) > 1000
    # Raises CycleError, which names the modules.
    TopologicalSorter(graph).prepare()


@pytest.mark.needs("papers", "sim_bridge/spot", "sim_bridge/habitat")
def test_every_paper_with_a_table_has_a_page() -> None:
    assert sorted(PAPERS) == sorted(TABLES.names())


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_page_has_its_mechanisms_figures_and_what_was_not_done(paper: str) -> None:
    page = PAPERS[paper]
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert headings == ["Where each mechanism is", "Its figures and ours", "Not done"]
    assert f"$ planner bench table {paper} " in page
    assert len(page.splitlines()) < 90
    assert len([path for of, path, _ in MECHANISMS if of == paper]) > 10


@pytest.mark.needs("papers", "sim_bridge/spot", "sim_bridge/habitat")
@pytest.mark.parametrize(("paper", "path", "names"), MECHANISMS)
def test_a_mechanism_is_where_the_papers_page_says(paper: str, path: str, names: str) -> None:
    assert set(re.findall(r"`(\w+)`", names)) - names_in(path) == set()
