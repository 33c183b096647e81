"""All parts pass their checks; run where the package is installed beside planner."""

from planner.app.memory_check import check_memory
from planner.app.planner_check import check_metric, check_planner
from planner.app.skill_check import check_skill
from planner.bench.runs.manifest import find_suite
from planner.memory.part import UpdaterRequest
from planner.parts.catalog import Verdict
from planner.planning.part import PlannerChoice
from planner.world.house_checks import load_episode, load_house
from sim_bridge.backend import BACKENDS
from sim_bridge.conformance import check_backend


def test_the_planner_keeps_its_promises() -> None:
    episode, house = load_episode("night_light_0")
    report = check_planner(PlannerChoice("lights_out"), house, episode)
    assert report.conforms, report.table()


def test_the_backend_keeps_its_promises() -> None:
    episode, house = load_episode("night_light_0")
    make = BACKENDS.get("slow_hands").make
    report = check_backend(
        lambda: make(None), house=house, episode=episode, only=["stop_stops", "cancel_stops"]
    )
    assert report.conforms, report.table()


def test_the_memory_updater_keeps_its_promises() -> None:
    request = UpdaterRequest("near-sighted", options={"max_distance_m": 2.0})
    report = check_memory(request, load_house("train_0"))
    assert report.conforms, report.table()


def test_the_skill_keeps_its_promises() -> None:
    episode, house = load_episode("coffee_time_0")
    report = check_skill("PutAway", house, episode, "PutAway[milk_carton_0, fridge_0]")
    assert report.conforms, report.table()
    assert {finding.verdict for finding in report.findings} == {Verdict.PASSED}


def test_the_metric_keeps_its_promises() -> None:
    episode, house = load_episode("night_light_0")
    report = check_metric("calls_a_minute", house, episode)
    assert report.conforms, report.table()


def test_the_suite_can_be_run() -> None:
    assert {entry.episode_id for entry in find_suite("evenings")} >= {"night_light_0"}
