"""Rules that hold for the tree as a whole."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import core_copy
import pytest
import yaml

ROOT = Path(__file__).parents[1]

# Where a file begins to ask to be two, and where it must be.
LONGEST_FILE_LINES = 600

OURS = ("papers", "planner", "sim_bridge", "household_parts")

# Libraries that cost seconds or hundreds of megabytes: only the functions that need them
# import them.
HEAVY = {"peft", "ray", "torch", "transformers", "trl", "vllm"}


@cache
def tracked() -> tuple[Path, ...]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return tuple(ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file())


def python_files() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py"]


def text_files() -> Iterator[tuple[str, str]]:
    for path in tracked():
        try:
            yield str(path.relative_to(ROOT)), path.read_text()
        except UnicodeDecodeError:
            continue


@pytest.fixture(autouse=True)
def in_a_checkout() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")


def test_no_file_names_a_place_on_one_machine() -> None:
    # Written so that this very file does not match.
    machine = re.compile(r"(?<![\w.])/(?:w[o]rk|r[o]ot|h[o]me/\w+)/|py[e]nv|file:/{2}/")
    found = [
        f"{name}: {match[0]}" for name, text in text_files() if (match := machine.search(text))
    ]
    assert not found


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in python_files()}
    assert not {str(p): n for p, n in lengths.items() if n > LONGEST_FILE_LINES}


def test_no_file_has_a_name_that_says_nothing() -> None:
    empty_words = re.compile(r"(^|_)(utils?|helpers?|managers?|misc|common)(_|$)")
    # HELPER is called so by its paper.
    paper = re.compile(r"helper(_retrieval|_tables?)?")
    found = [path for path in python_files() if empty_words.search(path.stem)]
    assert not [str(path) for path in found if not paper.fullmatch(path.stem)]


def test_heavy_libraries_are_imported_only_where_they_are_used() -> None:
    found = []
    named = re.compile(rf"\b({'|'.join(HEAVY)})\b")
    for path in python_files():
        if path.is_relative_to(ROOT / "test"):
            continue
        text = path.read_text()
        if not named.search(text):
            continue
        found += [
            f"{path.relative_to(ROOT)}: {module}"
            for module in imports_at_the_top(ast.parse(text).body)
            if module.partition(".")[0] in HEAVY
        ]
    assert not found


def imports_at_the_top(body: list[ast.stmt]) -> Iterator[str]:
    """Names imported when the module is, those for type checkers left out."""
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            yield statement.module
        elif isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            yield from imports_at_the_top(statement.orelse)
        elif isinstance(statement, ast.If | ast.Try):
            yield from imports_at_the_top([*statement.body, *statement.orelse])


def test_packages_do_not_re_export() -> None:
    found = []
    for path in python_files():
        if path.name == "__init__.py":
            modules = imports_at_the_top(ast.parse(path.read_text()).body)
            found += [str(path) for name in modules if name.split(".")[0] in OURS]
    assert not found


def test_yaml_is_read_safely() -> None:
    for path in tracked():
        if path.suffix in {".yaml", ".yml"}:
            # Safe all the same, and eight times faster.
            yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506


def test_every_dependency_is_pinned_once() -> None:
    def normal(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    pins = [
        normal(line.partition("==")[0])
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert len(pins) == len(set(pins))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    named = {normal(re.split(r"[\[<>=~! ;]", line)[0]) for group in groups for line in group}
    assert named <= set(pins)
    core = {normal(re.split(r"[\[<>=~! ;]", line)[0]) for line in project["dependencies"]}
    assert not core & {"torch", "transformers", "matplotlib", "ray"}


def test_the_page_for_a_distributions_ros_names_what_apt_does_not_bring() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = {re.split(r"[<>=]", line)[0] for line in project["dependencies"]}
    page = (ROOT / "docs" / "workspace.md").read_text()
    (line,) = re.findall(r"^pip install (.*)$", page, re.MULTILINE)
    by_pip = {re.split(r"[<>=]", word)[0] for word in line.replace("'", "").split()}
    # Under their names in package.xml.
    by_apt = {"numpy", "opencv-python-headless", "pillow", "pyyaml", "scipy", "shapely"}
    assert core <= by_pip | by_apt
    assert by_pip <= core


def test_only_judge_recorder_and_console_read_the_true_world() -> None:
    allowed = ("planner/evaluation/", "planner/recorder/", "planner/replay/", "sim_bridge/")
    # It shows the truth beside the memory, to persons and to nobody else.
    allowed += ("planner/console/",)
    # Of a WorldInfo; the functions of these names write files.
    truth = re.compile(r"\.(house|episode)_json\b")
    found = [
        name
        for path in python_files()
        if truth.search(path.read_text())
        and not (name := str(path.relative_to(ROOT))).startswith((*allowed, "test/"))
    ]
    assert not found


def test_every_node_is_executable_and_states_its_contract() -> None:
    for path in (ROOT / "nodes").iterdir():
        assert path.stat().st_mode & 0o111, f"{path} is not executable"
        assert path.read_text().startswith("#!/usr/bin/env python3\n")
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_the_readme_names_only_targets_and_commands_that_exist() -> None:
    from planner.parts.command import COMMAND_PARTS

    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    blocks = "\n".join(re.findall(r"^```bash\n(.*?)^```", readme, re.MULTILINE | re.DOTALL))
    assert set(re.findall(r"^make ([a-z-]+)", blocks, re.MULTILINE)) <= targets
    assert set(re.findall(r"^(?:\.venv/bin/)?planner ([a-z-]+)", blocks, re.MULTILINE)) <= set(
        COMMAND_PARTS.names()
    )


def test_continuous_integration_runs_what_the_readme_says() -> None:
    assert "make test" in (ROOT / "README.md").read_text()
    assert "make test" in (ROOT / ".ci" / "run").read_text()


COPIES = [core_copy.APART, ("papers",), ("sim_bridge/spot",), ("papers", "sim_bridge/habitat")]


@pytest.mark.needs(*core_copy.APART)
@pytest.mark.parametrize("without", COPIES)
def test_a_copy_without_a_folder_imports_it_nowhere(without: tuple[str, ...]) -> None:
    kept = [
        path
        for path in python_files()
        if not core_copy.is_left_out(str(path.relative_to(ROOT)), without)
    ]
    assert len(kept) > 1000
    found = [
        str(path.relative_to(ROOT))
        for path in kept
        if core_copy.imports_any(path.read_text(encoding="utf-8"), without)
    ]
    assert not found


@pytest.mark.needs(*core_copy.APART)
@pytest.mark.parametrize("without", COPIES)
def test_a_copys_project_has_neither_entry_points_nor_walls_nor_paths_of_it(
    without: tuple[str, ...],
) -> None:
    whole = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    text = core_copy.without_mentions(whole, without)
    points = tomllib.loads(text)["project"]["entry-points"]
    values = [value for group in points.values() for value in group.values()]
    assert "planner.commands.houses:MUJOCO" in values
    modules = [folder.replace("/", ".") for folder in without]
    assert not [value for value in values if value.startswith(tuple(modules))]
    tools = tomllib.loads(text)["tool"]
    names = [contract.pop("name") for contract in tools["importlinter"]["contracts"]]
    for folder, module in zip(without, modules, strict=True):
        assert not re.search(rf"\b{re.escape(module)}\b", str(tools["importlinter"]))
        assert not [path for path in tools["pytest"]["ini_options"]["pythonpath"] if folder in path]
        assert module not in tools["mypy"]["packages"]
    assert len(names) == (6 if without == core_copy.APART else 8)


def test_habitat_is_left_out_with_what_lies_in_its_scenes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tmp_path / "copy"), "--without", "sim_bridge/habitat"]
    assert core_copy.main(words) == 2
    assert "leave out papers as well" in capsys.readouterr().err
    assert core_copy.main([str(tmp_path)]) == 2
    assert f"{tmp_path}: exists already" in capsys.readouterr().err
