"""The four tasks of EPM-1.4: sound, for one robot, and not done at the start."""

import pytest

from planner.world.house_checks import load_episode
from planner.world.share import config_dir

SCENARIOS = sorted((config_dir() / "spot_scenarios").glob("*.json"))


def test_there_are_four() -> None:
    assert len(SCENARIOS) == 4


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_is_a_sound_task_of_one_robot(path: object) -> None:
    episode, house = load_episode(str(path))
    assert [agent.uid for agent in episode.agents] == ["agent_0"]
    assert episode.house == house.name
    goals = (episode.evaluation or {})["propositions"]
    assert isinstance(goals, list)
    where = {item.name: item.parent for item in episode.objects}
    for goal in goals:
        assert isinstance(goal, dict)
        arguments = goal["args"]
        assert isinstance(arguments, dict)
        (thing,), (place,) = arguments["objects"], arguments["receptacles"]
        assert where[str(thing)] != place
        assert place in house.furniture_by_name
