"""Verdicts are kept, and wrong episodes get correction files that nobody's edits are lost in."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path

import pytest

from planner.cli import main
from planner.episodes.corrections import read_correction
from planner.episodes.review.review import (
    ADDRESS,
    Mode,
    Review,
    ReviewServer,
    Verdict,
    episodes_to_review,
)
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


def _ask(
    server: ReviewServer, method: str, path: str, body: str | None = None, **headers: str
) -> tuple[int, str]:
    connection = HTTPConnection(ADDRESS, server.server_port)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_a_verdict_is_saved_and_listed(server: ReviewServer) -> None:
    body = json.dumps({"index": 1, "verdict": {"right": False, "reason": "<b>no</b>"}})
    kind = "application/json"
    assert _ask(server, "POST", "/verdict", body, Content_Type=kind) == (200, '{"note": ""}')
    status, text = _ask(server, "GET", "/episodes")
    assert status == 200
    listed = json.loads(text)
    assert [entry["name"] for entry in listed["episodes"]] == [
        "bed_first_0",
        "boots_pair_0",
        "toys_home_0",
    ]
    assert listed["episodes"][1]["verdict"]["reason"] == "<b>no</b>"
    assert len(listed["modes"]) == 9


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "Invalid JSON"),
        ('{"index": 7, "verdict": null}', "there is no episode 7"),
        ('{"index": -1, "verdict": null}', "there is no episode -1"),
        ('{"index": 0, "verdict": {"right": false, "modes": ["ugly"]}}', "modes"),
        ('{"index": 0, "verdict": {"right": false, "reason": "' + "x" * 2001 + '"}}', "reason"),
    ],
)
def test_a_bad_verdict_changes_nothing(server: ReviewServer, body: str, words: str) -> None:
    status, text = _ask(server, "POST", "/verdict", body, Content_Type="application/json")
    assert status == 400
    assert words in text
    assert server.review.counts() == (0, 0, 3)


def test_pages_of_other_sites_are_refused(server: ReviewServer) -> None:
    assert _ask(server, "GET", "/episodes", Host="evil.example:80")[0] == 403
    body = '{"index": 0, "verdict": {"right": true}}'
    assert _ask(server, "POST", "/verdict", body, Content_Type="text/plain")[0] == 404
    assert _ask(server, "POST", "/verdict", "x" * 70_000, Content_Type="application/json")[0] == 413
    assert _ask(server, "GET", "/../../etc/passwd")[0] == 404
    assert server.review.counts() == (0, 0, 3)


def test_drawings_are_served_or_the_reason_why_not(server: ReviewServer) -> None:
    status, text = _ask(server, "GET", "/drawing/2")
    assert status == 200
    assert "stuffed_toy_0" in text
    assert _ask(server, "GET", "/drawing/3")[0] == 404
    path = server.review.episodes[0].path
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(document | {"evaluation": None}), "utf-8")
    assert _ask(server, "GET", "/drawing/0") == (422, "episode bed_first_0 has no goal to draw")


def test_the_command_refuses_in_one_line(
    server: ReviewServer, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = str(server.server_port)
    output = ["-o", str(tmp_path / "out")]
    for arguments, words in (
        ([str(folder), *output, "--port", used], f"port {used} of 127.0.0.1 cannot be used"),
        (["toys_hom_0", *output], "did you mean 'toys_home_0'?"),
        ([str(folder), "-o", "/proc/review"], "/proc/review: cannot be made"),
    ):
        assert main(["episodes", "review", *arguments]) == 2
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1


def test_the_command_counts(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(_: ReviewServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ReviewServer, "serve_forever", interrupt)
    assert (
        main(["episodes", "review", str(folder), "-o", str(tmp_path / "out"), "--port", "0"]) == 0
    )
    said = capsys.readouterr().out
    assert "3 episodes: 0 right, 0 wrong, 3 not judged; review them at http://127.0.0.1:" in said
    assert f"correction files: {tmp_path / 'out'}" in said
