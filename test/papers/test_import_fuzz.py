"""Whatever is in a file: an importer ends with episodes and reasons, or one error; it runs nothing.

Files are drawn from noise, from any JSON, and from sound ones with parts exchanged; strings are
often code. Counts must add up in every case, and nothing that a file says may have an effect.
"""

from __future__ import annotations

import builtins
import copy
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy.random  # noqa: F401 - Hypothesis loads it later otherwise, where `eval` is refused
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from partnr_layout import METADATA, episode, write

from papers.et_plan_bench.published.importing import import_et_plan
from papers.et_plan_bench.virtualhome.importing import import_graphs
from papers.llamar.public_import import import_public
from papers.partnr.episodes.episodes import import_partnr_episodes
from papers.partnr.episodes.instruction_file import read_instructions
from planner.episodes.evaluation_text import (
    FieldError,
    PythonTextError,
    corrected,
    read_assignments,
    read_call,
    translated,
)
from planner.episodes.importing.importer import Imported
from planner.episodes.lint.linting import Linter
from planner.evaluation.language import read_evaluation
from planner.world.errors import FileError

MANY = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

CODE = [
    '__import__("os").system("touch /tmp/owned")',
    "eval('1')",
    "exec('import os')",
    "open('/etc/passwd').read()",
    "().__class__.__bases__[0].__subclasses__()",
    "lambda: 0",
    "[x for x in range(9)]",
    'is_on_top(["a"] * 10**9)',
    'is_on_top(["cup_0"], ["table_0"], number=99999999999999999999999)',
    "is_clean(" * 300,
    "[" * 5000,
    "-" * 5000 + "1",
    "is_clean(['cup_0'], number=1e999)",
    "is_clean(['cup_0'], number=nan)",
    '"""',
    "\\",
    "\x00",
    "{}",
    "f'{1}'",
    "../../etc/passwd",
    "robot",
    "cup_0",
    "is_on_top",
    "TemporalConstraint([[0, 0]])",
]
NUMBERS = st.one_of(
    st.integers(-3, 9),
    st.sampled_from([10**18, -(10**400), 2**63]),
    st.floats(allow_nan=False, allow_infinity=False),
)
TEXTS = st.one_of(st.sampled_from(CODE), st.text(max_size=20))
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)

ET_TASK: dict[str, Any] = {
    "task": "Put the apple into the fridge.",
    "task_completion_criterion": "(CLOSE, robot, apple)(INSIDE, apple, fridge)",
    "env_id": 1,
    "ground_truth_plan": [
        "<char0> [walk] <kitchen> (1)",
        "<char0> [walk] <apple> (2)",
        "<char0> [walk] <fridge> (3)",
        "<char0> [putin] <apple> (2) <fridge> (3)",
    ],
}
GRAPH: dict[str, Any] = {
    "init_graph": {
        "nodes": [
            {"id": 1, "class_name": "kitchen", "category": "Rooms"},
            {"id": 2, "class_name": "fridge", "states": ["OPEN"]},
            {"id": 3, "class_name": "apple", "properties": ["GRABBABLE"]},
        ],
        "edges": [
            {"from_id": 2, "to_id": 1, "relation_type": "INSIDE"},
            {"from_id": 3, "to_id": 2, "relation_type": "INSIDE"},
        ],
    },
    "task": "nothing",
}
TEAM_TASKS: dict[str, Any] = {
    "tasks": [
        {
            "task_name": "1_apple_fridge",
            "task_description": "Put the apple into the fridge.",
            "task_floorplans": ["FloorPlan1"],
            "task_checklist": ["PickupObject(Apple)", "PutObject(Fridge, Apple)"],
        }
    ]
}


@pytest.fixture(autouse=True)
def _nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_more: object) -> None:
        raise AssertionError("something of a file was run")

    for place, name in (
        (builtins, "eval"),
        (os, "system"),
        (os, "popen"),
        (subprocess, "Popen"),
    ):
        monkeypatch.setattr(place, name, refuse)


def _paths(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a document."""
    if at:
        yield at
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, (*at, index))


@st.composite
def _spoiled(draw: st.DrawFn, sound: object) -> Any:
    """A sound document of which one to three parts are something else, or gone."""
    document = copy.deepcopy(sound)
    for _ in range(draw(st.integers(1, 3))):
        places = sorted(_paths(document), key=str)
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        holder: Any = document
        for key in way:
            holder = holder[key]
        if isinstance(holder, dict) and draw(st.booleans()):
            del holder[last]
        else:
            holder[last] = draw(ANY_JSON)
    return document


def _adds_up(result: Imported) -> None:
    assert sum(result.read.values()) == len(result.episodes) + len(result.left_out)
    assert all(fault.reason and fault.file for fault in result.left_out)
    without = {item.episode_id for item in result.without_goal}
    assert without == {e.episode_id for e in result.episodes if e.evaluation is None}
    json.dumps(result.report)
    for made in result.episodes:
        if made.evaluation is not None:
            read_evaluation(made.evaluation, "again")


def _refusal(kinds: tuple[type[Exception], ...], act: Callable[[], object]) -> str | None:
    """The text of the error that something ends with, if it is of a kind that it may end with."""
    try:
        act()
    except kinds as error:
        return str(error)
    return None


def _imports(
    importer: Callable[[Sequence[Path]], Imported], path: Path, content: str | bytes
) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    told = _refusal((FileError,), lambda: _adds_up(importer([path])))
    assert told is None or str(path) in told


def _partnr(paths: Sequence[Path]) -> Imported:
    return import_partnr_episodes(paths, 0, metadata=paths[0].parent / "metadata")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the metadata of episode 0."""
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "0.json").write_text(json.dumps(METADATA), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@MANY
@given(document=_spoiled(episode(0)))
def test_partnrs_episodes_of_spoiled_files(document: object, folder: Path) -> None:
    path = write(folder, [document, episode(1)])
    _adds_up(_partnr([path]))


@MANY
@given(metadata=_spoiled(METADATA))
def test_partnrs_episodes_with_spoiled_metadata(metadata: object, folder: Path) -> None:
    (folder / "metadata" / "0.json").write_text(json.dumps(metadata), encoding="utf-8")
    _adds_up(_partnr([write(folder, [episode(0)])]))


@pytest.mark.slow
@settings(MANY, max_examples=12)
@given(document=_spoiled(episode(0)))
def test_partnrs_episodes_in_fitted_houses(document: object, folder: Path) -> None:
    path = write(folder, [document])
    _adds_up(import_partnr_episodes([path], 0, fit=True, metadata=folder / "metadata"))


@pytest.mark.slow
@MANY
@given(content=st.one_of(st.binary(max_size=200), st.builds(json.dumps, ANY_JSON)))
def test_any_file_for_any_importer(content: str | bytes, folder: Path) -> None:
    _imports(_partnr, folder / "a.json", content)
    _imports(_partnr, folder / "a.json.gz", content)
    _imports(lambda paths: import_et_plan(paths, 0), folder / "b.json", content)
    _imports(lambda paths: import_graphs(paths, 0), folder / "c.json", content)
    _imports(lambda paths: import_public(paths, 0), folder / "e.json", content)
    path = folder / "d.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    told = _refusal((FileError,), lambda: read_instructions(path))
    assert told is None or str(path) in told


@settings(MANY, max_examples=25)
@given(document=_spoiled(ET_TASK))
def test_spoiled_tasks_of_et_plan_bench(document: object, folder: Path) -> None:
    _imports(lambda paths: import_et_plan(paths, 0), folder / "t.json", json.dumps(document))


@settings(MANY, max_examples=25)
@given(document=_spoiled(TEAM_TASKS))
def test_spoiled_tasks_of_llamar(document: object, folder: Path) -> None:
    _imports(lambda paths: import_public(paths, 0), folder / "l.json", json.dumps(document))


@settings(MANY, max_examples=25)
@given(document=_spoiled(GRAPH))
def test_spoiled_graphs(document: object, folder: Path) -> None:
    _imports(lambda paths: import_graphs(paths, 0), folder / "g.json", json.dumps(document))


@MANY
@given(
    parts=st.lists(
        st.one_of(
            st.sampled_from(CODE),
            st.sampled_from([*"[](),='\"\n #\\.", "True", "None", "1", "x", '"""']),
            st.text(max_size=5),
        ),
        max_size=20,
    )
)
def test_the_parser_of_python_text_reads_or_refuses(parts: list[str]) -> None:
    text = "".join(parts)
    for read in (read_call, read_assignments):
        assert _refusal((PythonTextError,), lambda read=read: read(text)) != ""  # type: ignore[misc]
    told = _refusal((FieldError,), lambda: corrected(text))
    assert told is None or told.startswith("corrections")


@MANY
@given(propositions=ANY_JSON, dependencies=ANY_JSON, constraints=ANY_JSON)
def test_any_evaluation_is_translated_or_refused(
    propositions: object, dependencies: object, constraints: object
) -> None:
    def act() -> None:
        document = translated(
            propositions, dependencies, constraints, lambda word, _argument: (word,)
        )
        read_evaluation(document, "fuzz")

    told = _refusal((FieldError, FileError), act)
    assert told is None or told.startswith(("evaluation_", "fuzz: evaluation"))


SOUND = json.loads(
    (Path(__file__).parents[2] / "config" / "episodes" / "train" / "coffee_time_0.json").read_text(
        encoding="utf-8"
    )
)
LINTER = Linter()


@pytest.mark.slow
@MANY
@given(document=_spoiled(SOUND))
def test_the_lint_of_spoiled_episodes_finds_or_passes(document: object, folder: Path) -> None:
    path = folder / "episode.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    report = LINTER.lint(path)
    assert all(finding.reason for finding in report.findings)
    assert report.episode_id or report.errors


@pytest.mark.parametrize("depth", [50, 500, 900, 100_000])
def test_deep_nesting_is_one_error(depth: int, folder: Path) -> None:
    nest = "[" * depth + "]" * depth
    good = json.dumps(episode(0, evaluation_propositions="HERE"))
    text = '{"episodes": [' + good.replace('"HERE"', nest) + "]}"
    _imports(_partnr, folder / "deep.json", text)
