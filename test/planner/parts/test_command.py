"""Subcommands of other packages: of `planner`, `planner bench` and `planner train`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.cli import main
from planner.parts import command
from planner.parts.catalog import Catalog
from planner.parts.command import INTERFACE, CommandPart

SOURCE = """
from planner.parts.command import CommandPart
def add(parser):
    parser.add_argument("--loud", action="store_true")
def run(args):
    print("LA" if args.loud else "la")
    return 3
COMMAND = CommandPart("sings", add, run)
NONE = "sings"
LATER = CommandPart.of_module("module_of_nobody", "is imported when it is called")
"""
POINTS = """[planner.commands]
sing = choir:COMMAND
hum = choir:NONE
later = choir:LATER
run = choir:COMMAND
bench.sing = choir:COMMAND
train.sing = choir:COMMAND
train.memory = choir:COMMAND
"""


@pytest.fixture
def choir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalog[CommandPart]]:
    """A package of others that is installed beside this project."""
    (tmp_path / "choir.py").write_text(SOURCE)
    info = tmp_path / "choir-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: choir\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    catalog: Catalog[CommandPart] = Catalog(
        "command",
        "planner.cli",
        "COMMANDS",
        "planner.parts.command:CommandPart",
        INTERFACE,
        group="planner.commands",
    )
    monkeypatch.setattr(command, "COMMAND_PARTS", catalog)
    yield catalog
    sys.modules.pop("choir", None)


@pytest.mark.parametrize("words", [["sing"], ["bench", "sing"], ["train", "sing"]])
def test_a_part_is_a_word_of_its_command(
    words: list[str],
    choir: Catalog[CommandPart],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*words, "--loud"]) == 3
    assert capsys.readouterr().out == "LA\n"
    with pytest.raises(SystemExit, match="0"):
        main([*words[:-1], "--help"])
    (line,) = (each for each in capsys.readouterr().out.splitlines() if each.endswith(" sings"))
    assert line.split() == ["sing", "sings"]


def test_help_imports_no_module_of_a_command(
    choir: Catalog[CommandPart], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "is imported when it is called" in capsys.readouterr().out
    with pytest.raises(ModuleNotFoundError, match="module_of_nobody"):
        main(["later"])


def test_a_broken_one_and_one_with_a_name_of_the_core_are_reported_and_not_used(
    choir: Catalog[CommandPart], capsys: pytest.CaptureFixture[str]
) -> None:
    assert choir.get("run").summary != "sings"
    taken, broken = choir.problems()
    assert taken == (
        "command run of the package choir is not used: planner has one of that name; "
        "rename its entry point"
    )
    assert broken.startswith("command hum of the package choir cannot be used: ")
    with pytest.raises(SystemExit, match="2"):
        main(["hum"])
    assert "invalid choice: 'hum'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="0"):
        main(["train", "memory", "--help"])
    assert "--loud" not in capsys.readouterr().out
