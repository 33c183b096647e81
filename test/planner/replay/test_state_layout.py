"""A bag of another version of our messages is refused and not misread."""

from __future__ import annotations

from pathlib import Path

import pytest
from rosbags.typesys import get_types_from_msg

from planner.replay.state_layout import FIELDS, WORLD_STATE, difference

MESSAGES = Path(__file__).parents[3] / "msgs" / "msg"
OWN = (
    "\n".join(
        f"{'=' * 80}\nMSG: {name.replace('/msg/', '/')}\n{fields}"
        for name, fields in FIELDS.items()
    )
    .partition("\n")[2]
    .partition("\n")[2]
)


@pytest.mark.parametrize("name", FIELDS)
def test_the_layout_is_that_of_our_messages(name: str) -> None:
    text = (MESSAGES / f"{name.rpartition('/')[2]}.msg").read_text("utf-8")
    assert (
        get_types_from_msg(FIELDS[name], name)[name][1] == get_types_from_msg(text, name)[name][1]
    )


def test_our_own_definition_is_taken() -> None:
    assert difference(WORLD_STATE, OWN) == ""


@pytest.mark.parametrize(
    ("type_name", "was", "becomes", "says"),
    [
        (
            WORLD_STATE,
            "uint64 sim_step",
            "uint32 sim_step",
            "version of planner_msgs/msg/WorldState",
        ),
        (WORLD_STATE, "uint64 sim_step", "uint64 tick", "version of planner_msgs/msg/WorldState"),
        (WORLD_STATE, "bool value", "uint8 value", "version of planner_msgs/msg/NamedState"),
        (WORLD_STATE, "string holding", "string holding\nbool broken", "msg/EntityState"),
        (WORLD_STATE, "bool value", "% & /", "definition of planner_msgs/msg/WorldState"),
        ("std_msgs/msg/String", "", "", "is of type std_msgs/msg/String"),
    ],
)
def test_another_version_is_told(type_name: str, was: str, becomes: str, says: str) -> None:
    assert says in difference(type_name, OWN.replace(was, becomes))
