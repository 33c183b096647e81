"""What a robot can tell and answer beside what it remembers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planner.language.lexicon import Topic
from planner.planning.knowledge import Knowledge, read_knowledge
from planner.world.errors import FileError

CLOCK = (Topic.TIME, Topic.DAY, Topic.TOMORROW, Topic.WEEKDAY, Topic.DAY_OF_MONTH)


def test_the_clock_tells_time_and_days() -> None:
    now = datetime(2026, 12, 31, 9, 5, tzinfo=UTC)
    told = {topic: read_knowledge().about(topic, now) for topic in CLOCK}
    assert told == {
        Topic.TIME: "It is 09:05.",
        Topic.DAY: "Today is Thursday, the 31 of December 2026.",
        Topic.TOMORROW: "Tomorrow is Friday, the 01 of January 2027.",
        Topic.WEEKDAY: "Today is Thursday.",
        Topic.DAY_OF_MONTH: "Today is the 31 of December.",
    }


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the capital of France?", "Paris"),
        ("Can you tell me which city is the capital of Spain, please?", "Madrid"),
        ("what's the biggest planet", "Jupiter"),
        ("What is the capital of Sweden?", None),
        ("What is the capital?", None),
        ("Is there?", None),
        ("What time is it?", "It is"),
        ("Bring me an apple.", None),
    ],
)
def test_a_question_is_known_by_its_words(question: str, answer: str | None) -> None:
    """One that has other words is another question."""
    found = read_knowledge().reply(question)
    assert (found is None) is (answer is None)
    assert (answer or "") in (found or "")


def test_a_team_is_told_as_far_as_the_file_says() -> None:
    knowledge = Knowledge.model_validate({"team": {"name": "Five Wheels"}})
    assert knowledge.about(Topic.TEAM_NAME) == "Five Wheels"
    assert knowledge.about(Topic.TEAM_COUNTRY) is None
    assert knowledge.about(Topic.NAME) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "answers: [{say: Yes., ask: [is there]}]",
            "answers.0.ask: 'is there' has only small words",
        ),
        (
            "answers: [{say: A., ask: [who sings]}, {say: B., ask: [sings who]}]",
            "has another answer",
        ),
        ("teams: {}", "teams"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "knowledge.yaml"
    path.write_text(text)
    with pytest.raises(FileError, match=re.escape(reason)) as raised:
        read_knowledge(path)
    assert str(path) in str(raised.value)
