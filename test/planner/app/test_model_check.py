"""The published check of chat models: what it passes, what it leaves out, and what it finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import cli
from planner.app.planner_check import check_model
from planner.models.chat import (
    MODELS,
    ChatModel,
    Completion,
    ModelPart,
    ModelRequest,
    Request,
    Usage,
)
from planner.models.model_choice import ModelChoice
from planner.parts.catalog import Verdict
from planner.world.errors import PlannerError


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "replies.txt"
    path.write_text("yes\n\nno\n\nyes\n", encoding="utf-8")
    return path


def test_what_ships_passes(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "model", f"scripted:{script}"]) == 0
    assert "keeps_the_grammar" in capsys.readouterr().out


def test_a_recording_is_not_asked_what_it_was_not_asked(script: Path, tmp_path: Path) -> None:
    recording = tmp_path / "calls.jsonl"
    assert check_model(ModelChoice(f"scripted:{script}", record=str(recording))).conforms
    report = check_model(ModelChoice(f"recorded:{recording}"))
    assert report.conforms, report.table()
    assert {f.check for f in report.findings if f.verdict is Verdict.SKIPPED} >= {"answers"}


class _Broken:
    """Breaks the promises that it is asked to break."""

    name = ""

    async def complete(self, request: Request) -> Completion:
        if request.messages[0].pictures:
            raise ValueError("what is this?")
        return Completion("maybe so", Usage(reply_tokens=2))

    async def close(self) -> None:
        raise RuntimeError("closed already")


def _make(_request: ModelRequest) -> ChatModel:
    return _Broken()


def test_what_breaks_promises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    part = ModelPart(summary="broken", make=_make, holds_grammar=True, takes_pictures=True)
    monkeypatch.setattr(MODELS, "get", lambda _name: part)
    report = check_model(ModelChoice("broken"))
    assert set(report.failed) == {
        "has_a_name",
        "ends_at_stop_strings",
        "keeps_the_grammar",
        "keeps_max_tokens",
        "sees_pictures",
        "closes_twice",
    }
    assert "ValueError" in report.failed["sees_pictures"]


def test_a_model_that_cannot_be_made_is_one_line() -> None:
    with pytest.raises(PlannerError, match="model_url names no server"):
        check_model(ModelChoice("nobody"))
