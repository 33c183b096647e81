"""What help shows, and what is said of options that are not there."""

from __future__ import annotations

import io
import re
import tomllib
from pathlib import Path

import pytest

from planner import cli
from planner.command_line import ProgressBar
from planner.memory.part import UPDATERS
from planner.models.chat import MODELS
from planner.planning.part import PLANNERS

ROOT = Path(__file__).resolve().parents[2]
# The commands with the most settings, and how many lines are too many.
MANY = [(["run"], 80), (["bench", "heldout"], 100), (["up"], 180)]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """What a command prints, by a terminal of 80 columns, that ends with status 0."""
    monkeypatch.setenv("COLUMNS", "80")

    def show(*words: str) -> str:
        with pytest.raises(SystemExit, match=r"^0$"):
            cli.main(list(words))
        return capsys.readouterr().out

    return show


def flags(text: str) -> set[str]:
    return set(re.findall(r"^ +(?:-\w(?: \w+)?, )?--([\w-]+)", text, re.MULTILINE))


def option_flags(part: object) -> set[str]:
    return {option.name.replace("_", "-") for option in part.options}  # type: ignore[attr-defined]


def test_the_version_is_that_of_the_package(shown) -> None:  # type: ignore[no-untyped-def]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert shown("--version") == f"planner {project['version']}\n"


@pytest.mark.parametrize(("words", "most"), MANY)
def test_help_fits_a_few_screens(shown, words: list[str], most: int) -> None:  # type: ignore[no-untyped-def]
    lines = shown(*words, "--help").splitlines()
    assert len(lines) < most
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("kind", "flag"), [(PLANNERS, "planner"), (UPDATERS, "memory"), (MODELS, "model")]
)
def test_help_shows_the_options_of_the_chosen_part_only(shown, kind, flag: str) -> None:  # type: ignore[no-untyped-def]
    every = {name for part in kind.usable().values() for name in option_flags(part)}
    assert not every & flags(shown("run", "--help"))
    for name, part in kind.usable().items():
        assert every & flags(shown("run", f"--{flag}", name, "--help")) == option_flags(part)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--planner", "learned", "--help"),
        ("run", "--help", "--planner=learned"),
        ("run", "night_light_0", "--planner", "react", "--planner", "learned", "-h"),
        ("bench", "heldout", "--planner", "learned", "--help"),
    ],
)
def test_the_choice_may_be_anywhere(shown, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    text = shown(*words)
    assert {"learned-model", "learned-temperature"} <= flags(text)
    assert "whole-list" not in flags(text)


@pytest.mark.parametrize("words", [("--planner", "learned"), ("planner:=learned",)])
def test_a_bring_up_shows_them_under_its_own_names(shown, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    text = " ".join(shown("up", *words, "--help").split())
    assert "--learned_temperature VALUE of drawing calls by their rank; " in text
    assert "--whole_list" not in text


def test_a_model_is_chosen_by_part_or_by_a_servers_name(shown) -> None:  # type: ignore[no-untyped-def]
    assert "adapter" in flags(shown("run", "--model", "local:folder", "--help"))
    assert "dialect" in flags(shown("run", "--model", "qwen", "--help"))


def test_a_kind_of_skills_shows_its_options(shown) -> None:  # type: ignore[no-untyped-def]
    assert "skill-kind" in flags(shown("run", "--help"))
    assert "skill-noise" not in flags(shown("run", "--help"))
    assert "skill-noise" in flags(shown("run", "--skill-kind", "noisy", "--help"))


def test_help_of_a_flag_without_its_value_is_as_without_the_flag(shown) -> None:  # type: ignore[no-untyped-def]
    assert shown("run", "--help", "--planner") == shown("run", "--help")


def test_a_short_usage_keeps_what_is_required(shown) -> None:  # type: ignore[no-untyped-def]
    first, *_ = shown("bench", "heldout", "--help").splitlines()
    assert first == "usage: planner bench heldout --out DIR [options]"


def test_the_default_of_an_option_is_in_its_help(shown) -> None:  # type: ignore[no-untyped-def]
    text = " ".join(shown("run", "--planner", "react", "--help").split())
    assert "--whole-list VALUE whether each turn has all entities instead of what has " in text
    assert "(default: false)" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        # Hidden from help, and near enough to be meant.
        (
            ("--whole-lst", "true"),
            "unrecognized arguments: --whole-lst true; did you mean '--",
        ),
        (("--planner", "reakt"), "'words'); did you mean 'react'?"),
        (
            ("--planner", "react", "--learned-temperature", "0"),
            "option learned_temperature: is of learned; react has whole_list, wording, offers\n",
        ),
        (("--whole-list", "true"), "option whole_list: is of react; expert has none\n"),
        (
            ("--temperature", "0.5"),
            "option temperature: is of gguf, local, server, smollm2; none of them is chosen\n",
        ),
        (("--planner", "react", "--whole-list", "maybe"), "option whole_list: expected true or"),
    ],
)
def test_an_option_that_is_not_there_is_one_line(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = cli.main(["run", "night_light_0", *words])
    except SystemExit as ended:
        status = ended.code
    shown = capsys.readouterr()
    assert (status, shown.out) == (2, "")
    assert shown.err.count("\n") == 1
    assert said in shown.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_for_terminals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("planner.command_line.time.monotonic", lambda: now[0])
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        with ProgressBar("reading a bag") as bar:
            now[0] += 10.0
            bar.show(0.5)
        assert ("50%" in stream.getvalue()) is shown
