"""The Python API: the code of docs/python_api.md runs, and each of its names does as it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from gymnasium.utils.env_checker import check_env
from made_policy import homing_policy

import planner
from planner.cli import main
from planner.evaluation.trace import read_traces
from planner.world.errors import PlannerError
from planner.world.topics import InstructionCode

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python_api.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/python_api.md", "exec"), names)  # noqa: S102 - our own page
    (trace,) = read_traces(tmp_path / "night_light.jsonl")
    assert trace.episode.episode_id == "night_light_0"
    assert (tmp_path / "night_light" / "run.png").is_file()
    done = names["done"]
    assert isinstance(done, planner.Run)
    assert done.verdict.success
    assert done.result.outcome.code is InstructionCode.DONE


def test_importing_planner_imports_nothing_else() -> None:
    code = "import sys, planner; print(sorted(m for m in sys.modules if m.startswith('planner')))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['planner']"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        planner.nothing  # noqa: B018


def test_a_house_is_loaded_by_its_name_and_by_its_file() -> None:
    by_name = planner.load("train_0")
    (path,) = (ROOT / "config" / "houses").glob("*/train_0.json")
    assert not by_name.has_task
    assert planner.load(path).house == by_name.house


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(PlannerError, match="no_such_place"):
        planner.load("no_such_place")


@pytest.mark.slow
def test_pictures_are_kept_where_they_are_drawn() -> None:
    told: list[str] = []
    done = planner.run("night_light_0", pictures=True, say=told.append)
    assert done.verdict.success
    assert told[0].startswith("task: ")
    assert all(moment.rgb.ndim == 3 for moment in done.pictures)


def test_bodies_move_as_the_options_of_skills_say() -> None:
    noisy = {"skill_kind": "noisy", "skill_noise": 10.0, "skill_body": ""}
    done = planner.run("night_light_0", memory="full", agents=1, skill_options=noisy)
    results = [event.result for event in done.result.events if event.result is not None]
    assert not all(result.succeeded for result in results)
    learned = {"skill_kind": "learned", "skill_hand_policy": "/no/such"}
    with pytest.raises(PlannerError, match="/no/such: cannot be read"):
        planner.run("night_light_0", skill_options=learned)


def test_hands_slip_as_the_sensors_say(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("version: 1\nnoise: {failed_grasps: 1.0}\n", encoding="utf-8")
    done = planner.run("trophy_show_0", memory="full", agents=1, sensors=str(mine))
    results = [event.result for event in done.result.events if event.result is not None]
    assert any(result.text.endswith("The grasp of trophy_0 failed.") for result in results)
    assert not done.verdict.success
    with pytest.raises(PlannerError, match="sensors: the backend graph has no model"):
        planner.run("night_light_0", backend="graph", sensors="spot_hand")


@pytest.mark.slow
def test_the_command_takes_sensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "night_light_0", "--no-images", "--sensors", "consumer_rgbd"]
    assert main([*words, "-o", str(tmp_path)]) in (0, 1)
    assert "verdict: " in capsys.readouterr().out
    assert main(["run", "night_light_0", "--sensors", "consumer"]) == 2
    assert "there is no model 'consumer'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_takes_them_as_flags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = homing_policy(tmp_path / "p.safetensors")
    words = ["run", "night_light_0", "--no-images", "--memory", "full", "-o", str(tmp_path)]
    assert main([*words, "--skill-kind", "noisy", "--skill-noise", "0"]) == 0
    assert "success" in capsys.readouterr().out
    learned = [*words, "--skill-kind", "learned", "--skill-policy", str(policy), "--skill-body", ""]
    assert main(learned) == 2
    assert "body: is of a robot, and agent_1 is a human" in capsys.readouterr().err


@pytest.mark.needs("papers")
def test_find_tools_answer_with_a_model_when_one_is_named(tmp_path: Path) -> None:
    words, found = tmp_path / "planner.txt", tmp_path / "find.txt"
    words.write_text(
        "Thought: I look.\nFindRoomTool[a place to rest]\nAssigned!\n\nDone[]\nAssigned!"
    )
    found.write_text("- bathroom_0")
    done = planner.run(
        "night_light_0",
        planner="partnr_tools",
        model=f"scripted:{words}",
        find_model=f"scripted:{found}",
        agents=1,
    )
    results = [e.result for e in done.result.events if e.result is not None]
    assert results[0].text == "- bathroom_0"


def test_gymnasium_accepts_the_environment() -> None:
    env = planner.HouseholdEnv("night_light_0")
    try:
        check_env(env, skip_render_check=True)
    finally:
        env.close()


def test_what_is_no_call_fails_and_takes_no_time() -> None:
    env = planner.HouseholdEnv("night_light_0")
    try:
        before, _ = env.reset(seed=1)
        observation, reward, terminated, truncated, info = env.step("Pick up the lamp")
        assert (reward, terminated, truncated, info["code"]) == (0.0, False, False, "UNPARSABLE")
        assert "not of the form" in observation["result"]
        assert observation["memory"] == before["memory"]
    finally:
        env.close()


@pytest.mark.slow
def test_calls_that_did_the_task_are_rewarded() -> None:
    done = planner.run("desk_tidy_0", agents=1)
    env = planner.HouseholdEnv("desk_tidy_0")
    gained = 0.0
    try:
        env.reset()
        for event in done.result.events:
            if event.result is None:
                _, reward, terminated, _, info = env.step(str(event.call))
                gained += reward
        assert terminated
        assert gained == pytest.approx(1.0)
        assert info["percent_complete"] == 1.0
        with pytest.raises(RuntimeError, match="reset"):
            env.step("Wait[]")
    finally:
        env.close()


def test_an_observation_says_what_each_hand_holds() -> None:
    env = planner.HouseholdEnv("desk_tidy_0", agent="agent_1")
    try:
        seen, _ = env.reset()
        assert seen["hands"] == "right hand: empty, left hand: empty"
        env.step("Explore[office_0]")
        for pen, hand in (("pen_0", "right"), ("pen_1", "left")):
            env.step(f"Navigate[{pen}]")
            seen, *_ = env.step(f"Pick[{pen}]")
            assert seen["result"].endswith(f"{pen} is in the {hand} hand.")
        assert seen["hands"] == "right hand: pen_0, left hand: pen_1"
    finally:
        env.close()


@pytest.mark.parametrize("key", ["", "init_graph"])
def test_a_scene_graph_goes_where_a_houses_name_goes(tmp_path: Path, key: str) -> None:
    """Also where the text says nothing of rooms but their category."""
    document = kitchen.graph()
    path = kitchen.written(tmp_path, {key: document} if key else document)
    opened = planner.load(path)
    assert not opened.has_task
    assert opened.house.graph is not None
    done = planner.run(str(path), instruction="put the apple in the fridge", agents=1)
    assert done.verdict.success
    with pytest.raises(PlannerError, match="is a house, and no episode: it needs an instruction"):
        planner.HouseholdEnv(path)


def test_an_environment_of_a_scene_graph_rewards_what_the_words_ask_for(tmp_path: Path) -> None:
    path = kitchen.written(tmp_path)
    words = "put the apple in the fridge"
    with pytest.raises(PlannerError, match="the backend graph has no pictures"):
        planner.HouseholdEnv(path, render_mode="rgb_array", instruction=words)
    with pytest.raises(PlannerError, match="instruction: "):
        planner.HouseholdEnv(path, instruction="what is the time")
    env = planner.HouseholdEnv(path, instruction=words, backend="graph")
    gained = []
    try:
        env.reset(seed=1)
        for call in (
            "Navigate[fridge_10]",
            "Open[fridge_10]",
            "ExploreFurniture[kitchentable_11]",
            "Navigate[apple_13]",
            "Pick[apple_13]",
            "Navigate[fridge_10]",
            "Place[apple_13, within, fridge_10, None, None]",
        ):
            _, reward, _, _, info = env.step(call)
            assert info["code"] == "SUCCESS", call
            gained.append(reward)
    finally:
        env.close()
    assert gained == [0.0] * 6 + [1.0]


def test_an_agent_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="agent_7"):
        planner.HouseholdEnv("night_light_0", agent="agent_7")
