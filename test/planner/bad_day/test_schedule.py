"""Schedules of faults: their seed alone decides them."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest

from planner.bad_day import cli
from planner.bad_day.faults import Event, Fault, Schedule
from planner.bad_day.schedule import FORMS, Timeline, make_schedule, outage_schedule
from planner.environment import ros_environment
from planner.world.errors import PlannerError

SEEDS = range(300)


@pytest.mark.parametrize("form", FORMS.names())
def test_the_same_seed_gives_the_same_schedule_and_another_one_another(form: str) -> None:
    first = [make_schedule(form, seed) for seed in SEEDS]
    assert first == [make_schedule(form, seed) for seed in SEEDS]
    assert len({schedule.events for schedule in first}) > len(SEEDS) * 0.98


@pytest.mark.parametrize("form", FORMS.names())
def test_faults_are_as_bad_as_announced(form: str) -> None:
    events = [event for seed in SEEDS for event in make_schedule(form, seed).events]
    seconds = make_schedule(form, 0).seconds
    bounds = {Fault.ROUND_TRIP: (0.02, 0.3), Fault.LOSS: (0.005, 0.05), Fault.CPU_SHARE: (0.2, 0.6)}
    for event in events:
        assert 0 <= event.at_s < seconds + 3.0, event
        low, high = bounds.get(event.fault, (-10.0, 10.0))
        assert low <= event.value <= high, event
    kinds = {event.fault for event in events}
    if form == "ros":
        # A robot without a link; its servers are what may be missing.
        assert kinds == {Fault.SERVER_DEAD, Fault.FREEZE, Fault.KILL, Fault.CALL}
        return
    everywhere = {Fault.CPU_SHARE, Fault.FREEZE, Fault.KILL, Fault.SECOND_CLIENT, Fault.CALL}
    assert kinds >= everywhere | {Fault.SECOND_BRIDGE}
    if form in ("bridge", "spot"):
        assert kinds >= {Fault.ROUND_TRIP, Fault.LOSS, Fault.STALL, Fault.CLOCK_STEP}
    if form == "demo":
        assert kinds >= {Fault.MODEL_DEAD, Fault.MODEL_SLOW, Fault.FULL_DISK}


def test_every_node_of_a_stack_is_frozen_and_killed_by_some_seed() -> None:
    for fault, more in ((Fault.FREEZE, {"supervisor"}), (Fault.KILL, set[str]())):
        found = {
            event.name
            for seed in SEEDS
            for event in make_schedule("team", seed).events
            if event.fault is fault
        }
        nodes = {"bridge", "memory", "skill_executor", "task_planner", "evaluator", "recorder"}
        assert found == nodes | more


@pytest.mark.needs("sim_bridge/spot")
@pytest.mark.parametrize(
    ("fault", "seconds", "name"), [(Fault.STALL, 3.0, ""), (Fault.FREEZE, 2.0, "bridge")]
)
def test_an_outage_comes_alone_at_a_moment_of_its_seed(
    fault: Fault, seconds: float, name: str
) -> None:
    schedules = [outage_schedule(seed, fault) for seed in SEEDS]
    assert schedules == [outage_schedule(seed, fault) for seed in SEEDS]
    assert len({schedule.events for schedule in schedules}) > 100
    for schedule in schedules:
        (event,) = schedule.events
        assert (event.fault, event.seconds, event.name) == (fault, seconds, name)
        assert schedule.survives is fault
        assert event.at_s + seconds < schedule.seconds


def test_backend_ros_loses_each_of_its_servers_and_is_enabled_after_deaths() -> None:
    schedules = [make_schedule("ros", seed) for seed in SEEDS]
    events = [event for schedule in schedules for event in schedule.events]
    assert {e.name for e in events if e.fault is Fault.SERVER_DEAD} == {"nav2", "moveit"}
    assert all(1 <= e.seconds <= 6 for e in events if e.fault is Fault.SERVER_DEAD)
    assert all(0.2 <= e.seconds <= 2.5 for e in events if e.fault is Fault.FREEZE)
    for schedule in schedules:
        died = [e for e in schedule.events if (e.fault, e.name) == (Fault.KILL, "bridge")]
        died = [e for e in died if e.at_s < 9]
        calls = [e.name for e in schedule.events if e.fault is Fault.CALL]
        others = [name for name in calls if name == "stop"]
        assert sorted(calls) == sorted(others + ["claim", "power_on", "stand"] * len(died))
        faults = len(schedule.events) - len(calls) + len(others)
        assert 1 <= faults <= 3


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return parser.parse_args(words)


def install(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Pretends that what these robots need is installed, and that of no others."""
    for name in FORMS.names():
        part = replace(FORMS.get(name), is_installed=partial(names.__contains__, name))
        monkeypatch.setitem(FORMS._loaded, name, part)


@pytest.mark.needs("sim_bridge/spot")
def test_a_mix_says_which_runs_are_whole_stacks_and_bounds_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, "bridge", "spot", "sim", "demo", "team")
    chosen = cli.chosen(arguments("--runs", "1000", "--seed", "5"))
    assert [seed for _, seed in chosen] == list(range(5, 1005))
    forms = [form for form, _ in chosen]
    assert forms.count("bridge") == 970
    assert [forms.count(form) for form in ("demo", "spot", "team")] == [10, 10, 10]
    few = cli.chosen(arguments("--runs", "30", "--stacks", "1"))
    assert sum(form != "bridge" for form, _ in few) == 1
    assert cli.chosen(arguments("--task", "team", "--runs", "2", "--seed", "9")) == [
        ("team", 9),
        ("team", 10),
    ]


@pytest.mark.needs("sim_bridge/spot")
def test_a_mix_without_the_sdk_has_no_spot(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "sim", "demo", "team")
    forms = [form for form, _ in cli.chosen(arguments())]
    assert (forms.count("sim"), forms.count("demo"), forms.count("team")) == (27, 2, 1)
    assert len(forms) == 30
    with pytest.raises(PlannerError, match="make spot"):
        cli.run(arguments("--task", "spot"))


@pytest.mark.needs("sim_bridge/spot")
def test_backend_ros_is_part_of_a_mix_where_its_messages_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, "bridge", "spot", "sim", "demo", "team", "ros")
    forms = [form for form, _ in cli.chosen(arguments("--runs", "80"))]
    assert forms.count("ros") == forms.count("spot") == 2
    install(monkeypatch, "bridge", "spot", "sim", "demo", "team")
    assert "ros" not in {form for form, _ in cli.chosen(arguments("--runs", "80"))}
    with pytest.raises(PlannerError, match=r"ros needs the messages of Nav2.*robot-interfaces"):
        cli.run(arguments("--task", "ros"))
    monkeypatch.setattr(cli, "_run_all", lambda *_: iter(()))
    monkeypatch.setattr(cli, "ros_environment", lambda _: {})
    assert cli.run(arguments()) == 0
    assert "no runs of backend ros: without the messages of Nav2" in capsys.readouterr().out


@pytest.mark.slow
def test_the_harness_is_loaded_without_the_sdk() -> None:
    code = (
        "import sys; sys.modules['bosdyn'] = None\n"
        "import planner.bad_day.preload, planner.bad_day.harness\n"
        "print('sim_bridge.spot.bad_day' in sys.modules)\n"
    )
    environment = ros_environment(os.environ)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.slow
def test_a_timeline_does_and_ends_every_event() -> None:
    events = (
        Event(0.0, Fault.STALL, seconds=0.1),
        Event(0.05, Fault.CUT),
        Event(0.2, Fault.FREEZE, seconds=9.0, name="bridge"),
        Event(9.0, Fault.KILL, name="bridge"),
    )
    did: list[str] = []
    schedule = Schedule("bridge", 0, events, 0.4)
    Timeline(schedule).run(
        lambda event: did.append(f"do {event.fault}"),
        lambda event: did.append(f"undo {event.fault}"),
    )
    assert did == ["do stall", "do cut", "undo stall", "do freeze", "undo freeze"]


def test_a_timeline_ends_with_what_it_is_about() -> None:
    did: list[Event] = []
    schedule = Schedule("bridge", 0, (Event(0.0, Fault.CUT),), 600.0)
    Timeline(schedule).run(did.append, did.append, is_over=lambda: True)
    assert did == []
