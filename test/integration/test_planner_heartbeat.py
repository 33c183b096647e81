"""Heartbeats of the task planner; alone, as another world's time would end its instruction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_harness import Client
from planner_harness import Instructions, planner_alone, script
from planner_msgs.msg import Heartbeat

from planner.ros import qos
from planner.world.house import House
from planner.world.topics import InstructionCode

ROBOT = "agent_0"


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


def test_the_planner_attends_its_agents_from_the_instruction_to_its_end(
    small_house: House, client: Client, tmp_path: Path
) -> None:
    beats = client.listen(Heartbeat, f"/{ROBOT}/skill/heartbeat", qos.HEARTBEAT_INPUT)
    replies = ["Ask[which table]", "Navigate[Object.100]\nAssigned!", "Done[]"]
    replay = script(tmp_path / "script", *replies)
    with planner_alone(tmp_path, small_house, client) as start:
        start(planner="react", model=replay, max_questions=1, answer_wait=1.0)
        result = Instructions(client).follow("Go to the table.", agents=[ROBOT])
        assert result.code == InstructionCode.DONE
        client.wait(lambda: beats and beats[-1].leaving, "the goodbye")
    assert not any(beat.leaving for beat in beats[:-1])
    # A second of waiting for an answer, in which nothing was asked of the agent.
    assert len(beats) > 5
    assert [beat.sequence for beat in beats] == list(range(1, len(beats) + 1))
    assert {beat.executive for beat in beats} == {beats[0].executive}
