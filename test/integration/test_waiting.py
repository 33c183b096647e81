"""A node that is started alone says what it waits for, and when that has come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_harness import Client, bridge
from node_processes import Node, running

ALONE: dict[str, tuple[dict[str, object], str]] = {
    "memory": ({}, "/world/state of a simulator's bridge, and pictures of an agent"),
    "skill_executor": (
        {},
        "/world/info of a bridge to say the house, and /world_graph of a memory",
    ),
    "task_planner": ({}, "/world_graph of a memory"),
    "evaluator": ({}, "/world/state of a simulator's bridge"),
    "narrator": ({"instruction": "Tidy."}, "the action /instruct of a task planner"),
    "tour": ({}, "the action /agent_0/primitive of a bridge"),
}


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


def line_with(client: Client, node: Node, words: str) -> str:
    client.wait(lambda: words in node.log, f"{words!r} in the log")
    return next(line for line in node.log.splitlines() if words in line)


@pytest.mark.parametrize("name", ALONE)
def test_a_node_alone_says_what_it_waits_for(client: Client, name: str) -> None:
    parameters, words = ALONE[name]
    with running(name, **parameters) as node:
        line = line_with(client, node, "waiting for ")
    assert words in line


def test_a_recorder_alone_says_what_it_waits_for(client: Client, tmp_path: Path) -> None:
    with running("recorder", namespace="/a", folder=tmp_path / "bag") as node:
        line = line_with(client, node, "waiting for ")
        assert "waiting for a topic in the namespace /a" in line
        with running("evaluator", namespace="/a"):
            line_with(client, node, "all inputs have arrived")


def test_names_are_those_of_the_namespace(client: Client) -> None:
    with running("evaluator", namespace="/a") as node:
        line = line_with(client, node, "waiting for ")
    assert "waiting for /a/world/state of a simulator's bridge" in line


def test_what_has_come_is_no_longer_waited_for(client: Client) -> None:
    with running("evaluator") as node:
        line_with(client, node, "waiting for ")
        with bridge():
            line_with(client, node, "all inputs have arrived")
