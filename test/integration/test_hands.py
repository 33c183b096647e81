"""A body with two hands over ROS: what it pours and refuses, in results, bag and verdict."""

from __future__ import annotations

from pathlib import Path

import pytest
from bridge_harness import bridge, write_world
from node_processes import running
from skill_harness import Caller
from std_srvs.srv import Trigger

from planner.replay.bag import Bag
from planner.replay.judging import check_bag
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import FAILURE_PREFIX, SUCCESS_TEXT, SkillCode

PERSON = "agent_1"
GOAL = {
    "propositions": [
        {"function_name": "is_filled", "args": {"objects": ["cup_0"]}},
        {
            "function_name": "is_inside",
            "args": {"objects": ["pitcher_0"], "receptacles": ["cabinet_0"]},
        },
    ]
}
CALLS = ("Navigate[pitcher_0]", "Pick[pitcher_0]", "Navigate[sink_0]", "Fill[pitcher_0]")


def _written(folder: Path, house: House, episode: Episode) -> Path:
    """The small house's task with a pitcher between its cup and its apple."""
    cup, apple, *_ = episode.objects
    x, y = ((a + b) / 2 for a, b in zip(cup.pose[:2], apple.pose[:2], strict=True))
    made = {"name": "pitcher_0", "class_name": "pitcher", "pose": (x, y, *apple.pose[2:])}
    pitcher = apple.model_copy(update={**made, "size_m": (0.06, 0.06, 0.05)})
    changes = {"objects": (*episode.objects, pitcher), "evaluation": GOAL}
    return write_world(folder, house, episode.model_copy(update=changes))


@pytest.mark.slow
def test_full_hands_open_nothing_and_pour_into_each_other(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    file = _written(tmp_path, small_house, small_episode)
    out = tmp_path / "run"
    caller = Caller(small_house)
    try:
        with (
            running("recorder", folder=out / "bag", images="none"),
            bridge(episode=file, rate=8.0),
            running("evaluator", episode=file),
            running("skill_executor", episode=file, use_sim_time="true"),
        ):
            caller.tell()
            caller.skill(PERSON)
            for call in CALLS:
                assert caller.run(call, PERSON).code == SkillCode.SUCCESS
            caller.run("Navigate[cup_0]", PERSON)
            picked = caller.run("Pick[cup_0]", PERSON)
            assert picked.text == f"{SUCCESS_TEXT} cup_0 is in the left hand."
            assert list(picked.hands) == ["pitcher_0", "cup_0"]
            caller.run("Navigate[cabinet_0]", PERSON)
            refused = caller.run("Open[cabinet_0]", PERSON)
            assert refused.code == SkillCode.ALREADY_HOLDING
            loads = "pitcher_0 in the right hand and cup_0 in the left hand"
            assert refused.text == f"{FAILURE_PREFIX}The agent is already holding {loads}."
            poured = caller.run("Pour[cup_0]", PERSON)
            assert poured.code == SkillCode.SUCCESS, poured.text
            assert list(poured.hands) == ["pitcher_0", "cup_0"]
            assert caller.call(Trigger, "/evaluation/finish").message.startswith("failure")
    finally:
        caller.close()
    checked = check_bag(out)
    assert checked.agrees, checked.text
    assert checked.judged is not None
    assert [p.satisfied for p in checked.judged.verdict.propositions] == [True, False]
    reports = [message.content for message in Bag(out / "bag").messages(("/skills/results",))]
    assert [report.call for report in reports[-2:]] == ["Open[cabinet_0]", "Pour[cup_0]"]
