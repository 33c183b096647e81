"""Types of a bag against those that are installed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.player.layouts import is_type_name, same_layout

INNER = "\n" + "=" * 80 + "\nMSG: a/Inner\n"
POSE = "# where\nfloat64 x\nfloat64 y 1.0\nInner[] parts\n" + INNER + "uint8 ON=1\nstring<=5 name\n"


@pytest.mark.parametrize(
    "other",
    [
        POSE,
        POSE.replace("# where", "# elsewhere\nuint8 FAR=3"),
        POSE.replace("string<=5 name", "string<=5   name # of it"),
        POSE.replace("Inner[]", "a/Inner[]"),
        POSE + "\n" + "=" * 80 + "\nMSG: a/Unused\nint8 x\n",
    ],
)
def test_what_is_laid_out_alike_is_the_same(other: str) -> None:
    assert same_layout("a/msg/Pose", other, POSE)


@pytest.mark.parametrize(
    "other",
    [
        POSE.replace("float64 x\n", ""),
        POSE.replace("float64 x", "float32 x"),
        POSE.replace("float64 x", "float64 z"),
        POSE.replace("Inner[]", "Inner[3]"),
        POSE.replace("<=5 name", "<=5 name\nint8 more"),
        "",
        "garbage",
        "x" * 500_000,
        POSE.partition("\n===")[0],
    ],
)
def test_what_is_laid_out_otherwise_is_another_type(other: str) -> None:
    assert not same_layout("a/msg/Pose", other, POSE)


def test_a_type_that_holds_itself_is_no_endless_search() -> None:
    text = "a/Pose[] all\n" + "=" * 80 + "\nMSG: a/Pose\na/Pose[] all\n"
    assert isinstance(same_layout("a/msg/Pose", text, POSE), bool)


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    assert not same_layout("a/msg/Pose", text, POSE)


@pytest.mark.parametrize("name", ["sensor_msgs/msg/Image", "a/msg/B2"])
def test_names_of_types(name: str) -> None:
    assert is_type_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "Image", "a/srv/B", "../msg/B", "a/msg/../B", "os/system/B", "a.b/msg/C", "a/msg/B\n"],
)
def test_what_is_no_name_of_a_type(name: str) -> None:
    assert not is_type_name(name)
