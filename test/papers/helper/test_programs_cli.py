"""`planner programs`."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import EvaluatedError, ProgramRecord, RecordKind
from planner import cli
from planner.bench.runs.manifest import find_suite

PROGRAM = 'mug = InteractionObject("Mug")\nmug.go_to()\n'


@pytest.fixture
def taught(tmp_path: Path) -> Path:
    """A memory with two plans of Ann's and one of Ben's."""
    path = tmp_path / "programs.sqlite"
    with ProgramMemory.open(path) as memory:
        for said, person in (("Ann's tea", "Ann"), ("Ann's tidying", "Ann"), ("Ben's tea", "Ben")):
            memory.add(
                ProgramRecord(
                    0, RecordKind.PLAN, said, PROGRAM, person, confirmed=True, when_s=1.7e9
                )
            )
    return path


def said(words: list[str], capsys: pytest.CaptureFixture[str], status: int = 0) -> str:
    assert cli.main(["programs", *words]) == status
    told = capsys.readouterr()
    return told.err if status else told.out


def test_without_a_memory_the_shipped_examples(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(["list"], capsys).splitlines()
    assert len(lines) > 42
    assert lines[1].split()[:3] == ["1", "plan", "shipped"]
    assert "toggle_on()" in said(["show", "1"], capsys)
    assert said(["find", "Water the plant."], capsys).splitlines()[1].split()[1] == "4"


def test_corrections_are_found_by_their_failure(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(["find", "Switch on.", "--failure", "The hand is full.", "-k", "1"], capsys)
    number = told.splitlines()[1].split()[1]
    shown = said(["show", number], capsys)
    assert "kind: correction\n" in shown
    assert "failure: The hand is full.\n" in shown


def test_list_and_show(taught: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(["list", "--memory", str(taught), "--person", "Ann"], capsys)
    assert [line.split()[0] for line in told.splitlines()] == ["id", "1001", "1002"]
    shown = said(["show", "1003", "--memory", str(taught)], capsys)
    assert "person: Ben\n" in shown
    assert shown.endswith(f"\n{PROGRAM}")
    assert said(["list", "--memory", str(taught), "--person", "Cox"], capsys) == "no records\n"


def test_export_import_and_forget(
    taught: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, other = str(tmp_path / "programs.yaml"), str(tmp_path / "other.sqlite")
    memory = ["--memory", str(taught)]
    assert said(["export", *memory, "-o", out], capsys).startswith("wrote 3 records")
    assert said(["import", "--memory", other, out], capsys).startswith("learned 3 new records")
    assert said(["import", "--memory", other, out], capsys).startswith("learned 0 new records")
    assert said(["forget", *memory, "1003"], capsys) == "forgot 1003: Ben's tea\n"
    assert said(["forget", *memory, "--person", "Ann"], capsys) == "forgot 2 records of Ann\n"
    assert "no records" in said(["list", *memory, "--person", "Ann"], capsys)
    assert "1003" in said(["list", "--memory", other], capsys)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["list", "--memory", "gone.sqlite"], "gone.sqlite: there is no program memory"),
        (["show", "999"], "there is no record 999"),
        (["find", "x", "-k", "0"], "-k: 0 is less than 1"),
        (["forget", "--memory", "TAUGHT"], "give either ids or --person"),
        (["forget", "3", "--memory", "TAUGHT"], "3 is a shipped example"),
        (["import", "gone.yaml", "--memory", "TAUGHT"], "gone.yaml: cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: list[str], says: str, taught: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said([str(taught) if word == "TAUGHT" else word for word in words], capsys, status=2)
    assert says in told
    assert told.count("\n") == 1


def test_the_instructions_of_a_suite_are_never_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (entry, *_) = find_suite("heldout")
    path = tmp_path / "programs.sqlite"
    evaluated = ProgramRecord(0, RecordKind.PLAN, entry.instruction, PROGRAM, "Ann", confirmed=True)
    with ProgramMemory.open(path) as memory:
        memory.add(evaluated)
    told = said(["keep-out", "--memory", str(path), "heldout"], capsys)
    assert told.endswith("; 1 records removed\n")
    with ProgramMemory.open(path) as memory, pytest.raises(EvaluatedError):
        memory.add(evaluated)
    assert "did you mean 'heldout'" in said(
        ["keep-out", "--memory", str(path), "hedlout"], capsys, 2
    )
