"""What help shows, and what is said of options that are not there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from planner import cli

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"planner {project['version']}\n"
