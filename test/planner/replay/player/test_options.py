"""The command's arguments, and what is wrong with them in one line."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_bags import BEGIN_NS, SECOND, clock, make_bag, words

from planner import cli
from planner.replay import replay_cli
from planner.replay.bag import Bag
from planner.replay.player.options import (
    ClockMode,
    PlayOptions,
    RecordedQos,
    Selection,
    choose,
    chosen_topics,
    is_command,
    is_topic_name,
    is_type_name,
    options_of,
    recorded_qos,
    remappings,
    same_layout,
    span_of,
)
from planner.world.errors import PlannerError


def options(*given: str) -> PlayOptions:
    parser = argparse.ArgumentParser()
    replay_cli.add_arguments(parser)
    return options_of(parser.parse_args(["bag", *given]))


def test_by_default_everything_is_played_once_at_its_own_pace() -> None:
    assert options() == PlayOptions()


def test_all_arguments() -> None:
    given = "--rate 2.5 --start 3 --duration 4 --loop --pause --topics /a /b* --exclude /c "
    given += "--remap /a:=/x --clock made --all --force --wait-for-subscribers 0"
    found = options(*given.split())
    assert found.rate == 2.5
    assert (found.start_s, found.duration_s) == (3.0, 4.0)
    assert found.loop
    assert found.paused
    assert found.selection.topics == ("/a", "/b*")
    assert found.selection.exclude == ("/c",)
    assert found.selection.remap == {"/a": "/x"}
    assert found.selection.commands
    assert found.clock is ClockMode.MADE
    assert found.force
    assert found.subscribers_s == 0.0
    assert options("--rate", "max").rate is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("--rate 0.05", "--rate 0.05: expected 0.1 to 100, or max"),
        ("--rate fast", "--rate fast: expected 0.1 to 100, or max"),
        ("--rate nan", "--rate nan: expected"),
        ("--rate inf", "--rate inf: expected"),
        ("--start -1", "--start -1: expected seconds, 0 or more"),
        ("--duration nan", "--duration nan: expected seconds"),
        ("--wait-for-subscribers inf", "--wait-for-subscribers inf: expected"),
        ("--remap /a", "--remap '/a': expected FROM:=TO"),
    ],
)
def test_a_wrong_argument_is_reported_in_one_line(
    given: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["replay", "bag", *given.split()]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {reason}")
    assert told.count("\n") == 1


@pytest.fixture
def bag(tmp_path: Path) -> Bag:
    said = [words("/w", 0.0, "a"), clock(1.0, 0.5), words("/v", 10.0, "b")]
    return Bag(make_bag(tmp_path / "bag", said))


def test_a_span_is_a_part_of_the_bag(bag: Bag) -> None:
    whole = span_of(bag, options())
    assert (whole.start_ns, whole.end_ns) == (BEGIN_NS, BEGIN_NS + 10 * SECOND)
    part = span_of(bag, options("--start", "2.5", "--duration", "3"))
    assert part.start_ns == BEGIN_NS + round(2.5 * SECOND)
    assert part.end_ns == BEGIN_NS + round(5.5 * SECOND)
    assert span_of(bag, options("--duration", "1e6")).end_ns == whole.end_ns
    with pytest.raises(PlannerError, match=r"--start 11: the bag is 10\.0 s long"):
        span_of(bag, options("--start", "11"))


def test_an_empty_bag_has_nothing_to_play(tmp_path: Path) -> None:
    empty = Bag(make_bag(tmp_path / "empty", []))
    with pytest.raises(PlannerError, match="holds no messages"):
        span_of(empty, options())


@pytest.mark.parametrize(
    ("given", "clock_mode", "names"),
    [
        ("", ClockMode.BAG, {"/clock": "/clock", "/v": "/v", "/w": "/w"}),
        ("--topics /w", ClockMode.BAG, {"/clock": "/clock", "/w": "/w"}),
        ("--exclude /clock", ClockMode.NONE, {"/v": "/v", "/w": "/w"}),
        ("--clock none", ClockMode.NONE, {"/v": "/v", "/w": "/w"}),
        ("--clock made", ClockMode.MADE, {"/v": "/v", "/w": "/w"}),
        ("--topics /w --remap /clock:=/c", ClockMode.BAG, {"/clock": "/c", "/w": "/w"}),
    ],
)
def test_who_publishes_the_time(
    bag: Bag, given: str, clock_mode: ClockMode, names: dict[str, str]
) -> None:
    chosen, found = chosen_topics(bag.topics, options(*given.split()))
    assert found is clock_mode
    assert chosen.names == names


def test_a_bag_without_a_clock_gets_one_that_is_made(tmp_path: Path) -> None:
    topics = Bag(make_bag(tmp_path / "bag", [words("/w", 0.0, "a")])).topics
    assert chosen_topics(topics, options())[1] is ClockMode.MADE
    with pytest.raises(PlannerError, match="--clock bag: the bag has no /clock"):
        chosen_topics(topics, options("--clock", "bag"))


def test_no_bag_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["replay", str(tmp_path / "none")]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "qos"),
    [
        ("- {reliability: reliable, durability: volatile}", RecordedQos()),
        ("- {reliability: best_effort, durability: volatile}", RecordedQos(reliable=False)),
        ("- {reliability: reliable, durability: transient_local}", RecordedQos(latched=True)),
        # As older recorders write it.
        ("- {reliability: 1, durability: 1}", RecordedQos(latched=True)),
        ("- {reliability: 2, durability: 2}", RecordedQos(reliable=False)),
        # Of two publishers the stronger offer.
        (
            "- {reliability: best_effort}\n- {reliability: reliable, durability: transient_local}",
            RecordedQos(latched=True),
        ),
        ("", RecordedQos()),
        ("[]", RecordedQos()),
        ("a: [", RecordedQos()),
        ("- 7", RecordedQos()),
        ("- {reliability: [best_effort], durability: {}}", RecordedQos()),
        ("[" * 5000, RecordedQos()),
        ("- {reliability: best_effort}" + " " * 70_000, RecordedQos()),
    ],
)
def test_profiles(text: str, qos: RecordedQos) -> None:
    assert recorded_qos("/x", text) == qos


def test_static_transforms_are_latched_unless_the_bag_says_otherwise() -> None:
    assert recorded_qos("/tf_static", "").latched
    assert not recorded_qos("/tf_static", "- {durability: volatile}").latched


@given(st.text())
def test_any_text_gives_some(text: str) -> None:
    assert isinstance(recorded_qos("/x", text), RecordedQos)


TOPICS = (
    "/agent_0/cmd_vel",
    "/agent_0/odometry",
    "/agent_0/safety/approve_at",
    "/agent_1/odometry",
    "/instruct/answer",
    "/lockstep/memory",
    "/tf",
)


def chosen(**fields: object) -> dict[str, str]:
    return dict(choose(TOPICS, Selection(**fields)).names)  # type: ignore[arg-type]


def test_all_is_played_but_what_makes_robots_and_nodes_act() -> None:
    found = choose(TOPICS, Selection())
    assert list(found.names) == ["/agent_0/odometry", "/agent_1/odometry", "/tf"]
    assert found.withheld == (
        "/agent_0/cmd_vel",
        "/agent_0/safety/approve_at",
        "/instruct/answer",
        "/lockstep/memory",
    )
    assert list(chosen(commands=True)) == sorted(TOPICS)


def test_a_command_that_is_asked_for_by_name_is_still_withheld() -> None:
    found = choose(TOPICS, Selection(topics=("/agent_0/cmd_vel",)))
    assert not found.names
    assert found.withheld == ("/agent_0/cmd_vel",)


@pytest.mark.parametrize(
    ("topic", "command"),
    [
        ("/cmd_vel", True),
        ("/robot/cmd_vel_nav", True),
        ("/robot/base/cmd_vel/stamped", True),
        ("/goal_pose", True),
        ("/parameter_events", True),
        ("/instruct/status", False),
        ("/agent_0/safety/state", False),
        ("/my_cmd_velocity", False),
    ],
)
def test_commands_are_known_by_their_names(topic: str, command: bool) -> None:
    assert is_command(topic) is command


def test_names_and_patterns() -> None:
    assert list(chosen(topics=("/agent_?/odometry",))) == ["/agent_0/odometry", "/agent_1/odometry"]
    assert list(chosen(exclude=("/agent_1/*",))) == ["/agent_0/odometry", "/tf"]
    assert list(chosen(topics=("/tf", "/agent_*"), exclude=("*odometry",))) == ["/tf"]


@pytest.mark.parametrize("option", ["topics", "exclude"])
def test_a_pattern_that_fits_nothing_is_an_error(option: str) -> None:
    with pytest.raises(PlannerError, match=f"--{option} '/odom': fits no topic"):
        chosen(**{option: ("/odom",)})


def test_topics_get_other_names() -> None:
    names = chosen(topics=("/tf", "/agent_0/odometry"), remap={"/tf": "/old/tf"})
    assert names == {"/tf": "/old/tf", "/agent_0/odometry": "/agent_0/odometry"}


@pytest.mark.parametrize(
    ("remap", "reason"),
    [
        ({"/odom": "/x"}, "the bag has no topic /odom"),
        ({"/tf": "tf"}, "'tf' is not an absolute name"),
        ({"/tf": "/a b"}, "is not an absolute name"),
        ({"/tf": "/agent_0/odometry"}, "would both be /agent_0/odometry"),
    ],
)
def test_a_wrong_new_name_is_an_error(remap: dict[str, str], reason: str) -> None:
    with pytest.raises(PlannerError, match=reason):
        chosen(remap=remap)


def test_words_become_new_names() -> None:
    assert remappings(["/a:=/b", "/c:=/d"]) == {"/a": "/b", "/c": "/d"}
    for case, reason in (
        (["/a=/b"], "expected FROM:=TO"),
        (["/a:="], "expected FROM:=TO"),
        (["/a:=/b", "/a:=/c"], "given twice"),
    ):
        with pytest.raises(PlannerError, match=reason):
            remappings(case)


@pytest.mark.parametrize("name", ["/a", "/a_1/b/C2"])
def test_names_that_ros_allows(name: str) -> None:
    assert is_topic_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "/", "a", "/a/", "//a", "/1a", "/a-b", "/a\n", "/a__b", "/../x", "/é", "/" + "a" * 300],
)
def test_a_topic_of_no_allowed_name_is_left_out(name: str) -> None:
    found = choose(("/tf", name), Selection())
    assert list(found.names) == ["/tf"]
    assert found.invalid_names == (name,)
