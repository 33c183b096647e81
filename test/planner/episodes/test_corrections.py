"""Correction files: what is written is read again, and what annotators change takes effect."""

from pathlib import Path

import pytest

from planner.cli import main
from planner.episodes.corrections import correction_text, read_correction, write_correction
from planner.episodes.episode_file import write_set
from planner.episodes.recipes.build import shipped_episodes
from planner.evaluation.language import read_evaluation
from planner.world.episode import Episode, read_episode
from planner.world.errors import FileError, PlannerError


def _episode(name: str) -> Episode:
    return next(read_episode(path) for path in shipped_episodes() if path.stem == name)


def _changed(folder: Path, episode: Episode, old: str, new: str) -> Episode:
    path = write_correction(folder, episode)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return read_correction(path, episode).episode


def test_an_unchanged_file_changes_nothing(tmp_path: Path) -> None:
    for path in shipped_episodes():
        episode = read_episode(path)
        correction = read_correction(write_correction(tmp_path, episode), episode)
        assert correction.skipped == ""
        assert correction.episode == episode, path.stem


def test_blocks_are_in_the_papers_order() -> None:
    text = correction_text(_episode("bed_first_0"))
    blocks = ["instruction", "propositions", "temporal_groups", "tie_constraints"]
    blocks += ["exclude_final_constraint", "skip_episode", "reason"]
    found = [line.split(" = ")[0] for line in text.splitlines() if line[:1].isalpha()]
    assert found == blocks
    assert "temporal_groups = [[0, 1], [2]]" in text


def test_a_changed_proposition_takes_effect(tmp_path: Path) -> None:
    episode = _episode("bed_first_0")
    changed = _changed(tmp_path, episode, '["bed_0"]', '["couch_0"]')
    assert changed.evaluation is not None
    read = read_evaluation(changed.evaluation, "")
    assert read.propositions[2].lists == (("pillow_0",), ("couch_0",))
    # The pillow is on the couch at the start: the gate is inferred (PARTNR-D34).
    assert [(gate.gated, gate.depends_on) for gate in read.dependencies] == [((2,), (0, 1))]


def test_a_changed_order_takes_effect(tmp_path: Path) -> None:
    episode = _episode("bed_first_0")
    changed = _changed(tmp_path, episode, "[[0, 1], [2]]", "[]")
    assert changed.task_types == ("constraint_free",)


def test_exclusions_and_instruction_take_effect(tmp_path: Path) -> None:
    episode = _episode("bed_first_0")
    old = "exclude_final_constraint = []"
    changed = _changed(tmp_path, episode, old, "exclude_final_constraint = [0]")
    assert changed.evaluation is not None
    assert read_evaluation(changed.evaluation, "").terminal == {1, 2}
    changed = _changed(tmp_path, episode, "Take the tablet", "Take this tablet")
    assert changed.instruction.startswith("Take this tablet and")


def test_a_skipped_episode_gives_its_reason(tmp_path: Path) -> None:
    episode = _episode("bed_first_0")
    path = write_correction(tmp_path, episode, skip=True, reason='no "chest" there')
    assert read_correction(path, episode).skipped == 'no "chest" there'


@pytest.mark.parametrize(
    "text", ["propositions = open('x')", "propositions = [is_on_top(['a'])]", "x = 1", "import os"]
)
def test_other_text_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "episode_x.py"
    path.write_text(text)
    with pytest.raises(FileError):
        read_correction(path, _episode("bed_first_0"))


def test_an_episode_without_evaluation_has_nothing_to_correct() -> None:
    with pytest.raises(PlannerError, match="no evaluation"):
        correction_text(_episode("bed_first_0").model_copy(update={"evaluation": None}))


def test_the_command_applies_them_to_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    episodes = [_episode("bed_first_0"), _episode("sofa_swap_0"), _episode("book_row_0")]
    given, corrections, output = tmp_path / "in", tmp_path / "corrections", tmp_path / "out"
    write_set(given, episodes)
    _changed(corrections, episodes[0], "[[0, 1], [2]]", "[]")
    write_correction(corrections, episodes[1], skip=True, reason="no umbrella")
    command = ["episodes", "correct", str(given), "--corrections", str(corrections)]
    assert main([*command, "-o", str(output)]) == 0
    out = capsys.readouterr().out
    assert "sofa_swap_0: left out: no umbrella" in out
    assert "wrote 2 episodes" in out
    assert "1 changed, 1 left out" in out
    found = {path.stem: read_episode(path) for path in output.glob("*.json")}
    assert found["book_row_0"] == episodes[2]
    assert found["bed_first_0"].task_types == ("constraint_free",)
    assert main([*command[:2], str(output), *command[3:4], str(given), "-o", str(output)]) != 0
    assert "none of the episodes" in capsys.readouterr().err
