"""The paper's statistics: counted on small examples, and printed for a suite."""

from pathlib import Path

import pytest

from planner.cli import main
from planner.episodes.recipes.build import shipped_episodes
from planner.episodes.statistics import Row, distinct, statistics, without_nouns
from planner.world.episode import Episode, read_episode


def _episodes(*names: str) -> list[Episode]:
    return [read_episode(path) for path in shipped_episodes() if path.stem in names]


def _ours(rows: tuple[Row, ...]) -> dict[str, str]:
    return {row.name: row.ours for row in rows}


def test_characteristics_of_evaluations() -> None:
    found = _ours(statistics(_episodes("sofa_swap_0", "bed_first_0")))
    assert found["episodes"] == "2"
    assert found["type temporal"] == "100 %"
    assert found["propositions in a task"] == "3.0"
    assert found["resolvable ambiguity"] == "0 %  0.00"
    assert found["dependent rearrange"] == "50 %  0.50"


def test_phenomena_of_instructions() -> None:
    (episode,) = _episodes("bed_first_0")
    said = "Guests are coming over tonight. You put the red cup on the desk, and I'll wash it."
    found = _ours(statistics([episode.model_copy(update={"instruction": said})]))
    assert found["class reference"] == "100 %  2.00"
    assert found["instance reference"] == "100 %  1.00"
    assert found["co-reference"] == "100 %  1.00"
    assert found["active voice"] == "100 %  2.00"
    assert found["high-level goal"] == "100 %  1.00"
    assert found["agentic reference"] == "100 %  2.00"
    assert found["passive voice"] == "0 %  0.00"


def test_instructions_that_differ_only_in_nouns_count_once() -> None:
    texts = ["Put the cup on the table.", "Put the book on the desk.", "Could you wash the plate?"]
    assert distinct([without_nouns(text) for text in texts]) == 2


def test_the_command_prints_both(capsys: pytest.CaptureFixture[str]) -> None:
    folder = shipped_episodes()[0].parent
    assert main(["episodes", "statistics", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "PARTNR" in out
    assert "4.7" in out


def test_a_folder_without_episodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["episodes", "statistics", str(tmp_path)]) != 0
    assert "no episodes" in capsys.readouterr().err
