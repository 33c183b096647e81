"""Verdicts are kept, and wrong episodes get correction files that nobody's edits are lost in."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.episodes.corrections import read_correction
from planner.episodes.review.review import Review, episodes_to_review
from planner.episodes.review.verdicts import Mode, Verdict
from planner.world.errors import FileError, PlannerError

RIGHT = Verdict(right=True)
WRONG = Verdict(right=False, modes=(Mode.ENTITY, Mode.AMBIGUITY), reason="the other bed")


def _again(review: Review) -> Review:
    places = [item.path for item in review.episodes]
    return Review(episodes_to_review(places), review.folder)


def test_a_review_is_continued(review: Review) -> None:
    assert review.counts() == (0, 0, 3)
    review.judge(0, RIGHT)
    review.judge(2, WRONG)
    again = _again(review)
    assert again.counts() == (1, 1, 1)
    assert again.verdict(1) is None
    kept = again.verdict(2)
    assert kept is not None
    assert (kept.modes, kept.reason) == (WRONG.modes, WRONG.reason)


def test_a_wrong_episode_gets_a_correction_file(review: Review) -> None:
    assert review.judge(2, WRONG) == ""
    path = review.folder / "episode_toys_home_0.py"
    correction = read_correction(path, review.episodes[2].episode)
    reason = "incorrect object, furniture or room, incorrect ambiguity: the other bed"
    assert correction.skipped == reason
    assert correction.episode == review.episodes[2].episode
    review.judge(2, Verdict(right=False, reason="another reason"))
    assert read_correction(path, review.episodes[2].episode).skipped == "another reason"
    review.judge(2, RIGHT)
    assert not path.exists()


def test_a_verdict_is_taken_back(review: Review) -> None:
    review.judge(2, WRONG)
    review.judge(2, None)
    assert _again(review).counts() == (0, 0, 3)
    assert [path.name for path in review.folder.iterdir()] == ["review.json"]


def test_an_edited_correction_is_never_replaced_or_removed(review: Review) -> None:
    review.judge(2, WRONG)
    path = review.folder / "episode_toys_home_0.py"
    edited = path.read_text("utf-8").replace("skip_episode = True", "skip_episode = False")
    path.write_text(edited, "utf-8")
    for verdict in (Verdict(right=False, reason="more"), RIGHT, None):
        assert "was edited" in review.judge(2, verdict)
        assert path.read_text("utf-8") == edited


def test_a_verdict_is_of_the_episode_as_it_was(review: Review) -> None:
    review.judge(0, RIGHT)
    path = review.episodes[0].path
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    again = _again(review)
    assert again.verdict(0) is None
    assert again.has_changed(0)
    assert not again.has_changed(1)


def test_what_cannot_be_corrected_is_said(review: Review) -> None:
    item = review.episodes[0]
    bare = item.episode.model_copy(update={"evaluation": None})
    other = Review([type(item)(item.path, bare, item.digest)], review.folder)
    assert "no correction file" in other.judge(0, WRONG)
    assert other.counts() == (0, 1, 0)


def test_bad_places_are_refused(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(PlannerError, match="no episodes to review"):
        episodes_to_review([empty])
    with pytest.raises(PlannerError, match="two episodes toys_home_0"):
        episodes_to_review([folder, folder / "toys_home_0.json"])
    (folder / "broken.json").write_text("{")
    with pytest.raises(FileError, match=r"broken\.json"):
        episodes_to_review([folder])
    with pytest.raises(FileError, match="cannot be made"):
        Review(episodes_to_review([folder / "toys_home_0.json"]), folder / "broken.json" / "a")
