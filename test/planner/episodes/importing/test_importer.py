"""The frame of all importers: what is written and printed, and what other commands do without."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from planner.cli import main
from planner.episodes.episode_file import REPORT_NAME
from planner.episodes.importing import importer
from planner.episodes.importing.importer import AGENTS, Fault, Imported, ImporterPart
from planner.world.episode import EPISODE_VERSION, Episode


def _part(*instructions: str) -> ImporterPart:
    """An importer that makes these instructions of any file, and leaves one task out."""

    def read(args: argparse.Namespace) -> Imported:
        episodes = tuple(
            Episode(
                version=EPISODE_VERSION,
                episode_id=f"own-{number}",
                house=args.home,
                instruction=text,
                seed=args.seed,
                agents=AGENTS,
            )
            for number, text in enumerate(instructions)
        )
        left_out = (Fault(args.files[0].name, "7", "says nothing"),)
        return Imported("own", {args.files[0].name: len(episodes) + 1}, episodes, left_out)

    return ImporterPart(
        summary="ours",
        read=read,
        add_arguments=lambda parser: parser.add_argument("--home", default="train_0") and None,
    )


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Makes an importer the only one, under the name `own`."""

    class Only:
        def __init__(self, part: ImporterPart) -> None:
            self._part = part

        def usable(self) -> dict[str, ImporterPart]:
            return {"own": self._part}

        def get(self, _name: str) -> ImporterPart:
            return self._part

    return lambda part: monkeypatch.setattr(importer, "IMPORTERS", Only(part))


def test_what_is_imported_is_written_and_told(only, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    only(_part("Tidy up."))
    words = ["episodes", "import", "own", "tasks.txt", "-o", str(tmp_path), "--seed", "3"]
    assert main([*words, "--home", "train_1"]) == 0
    written = json.loads((tmp_path / "own-0.json").read_text(encoding="utf-8"))
    assert (written["house"], written["seed"]) == ("train_1", 3)
    report = json.loads((tmp_path / REPORT_NAME).read_text(encoding="utf-8"))
    assert (report["dataset"], report["files"], report["episodes"]) == ("own", {"tasks.txt": 2}, 1)
    assert capsys.readouterr().out.splitlines() == [
        "read 2 tasks from 1 files",
        "imported 1, of which 0 can be judged; 0 houses made",
        "left out: 1",
        "  tasks.txt  7  says nothing",
        f"wrote {tmp_path} and {tmp_path / REPORT_NAME}",
    ]


def test_an_import_of_nothing_fails_but_tells_why(only, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    only(_part())
    assert main(["episodes", "import", "own", "tasks.txt", "-o", str(tmp_path)]) == 1
    assert "tasks.txt  7  says nothing" in capsys.readouterr().out


def test_other_actions_import_no_importer() -> None:
    code = (
        "import sys; from planner.cli import main\n"
        "assert main(['episodes', 'list', 'config/episodes/train']) == 0\n"
        "loaded = [n for n in sys.modules if n.startswith('planner.episodes.') and 'import' in n]\n"
        "sys.exit(f'imported {loaded}' if loaded else 0)"
    )
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root
    )
    assert done.returncode == 0, done.stderr
