"""Planners get a picture of an agent's camera when they ask for one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import graph_kitchen as kitchen
import pytest

from planner.app.embedded_run import prepare_embedded, prepare_graph
from planner.models.chat import Picture
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.skill import SkillCall, SkillName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.graph.backend import GraphBackend

CUP_ON_COUCH = {
    "function_name": "is_on_top",
    "args": {"objects": ["cup_0"], "receptacles": ["couch_0"]},
}


class Looking:
    """Takes one picture of each agent and is done."""

    name = "looking"

    def __init__(self) -> None:
        self.pictures: dict[str, Picture | None] = {}

    async def decide(self, context: Context) -> Decision:
        self.pictures = {agent: context.picture(agent) for agent in context.task.agents}
        return Decision(dict.fromkeys(context.idle, SkillCall(SkillName.DONE)))

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        pass


@pytest.mark.slow
def test_a_picture_shows_what_the_agents_camera_shows(
    small_house: House, small_episode: Episode
) -> None:
    looking = Looking()
    episode = small_episode.model_copy(update={"evaluation": {"propositions": [CUP_ON_COUCH]}})
    with closing(EmbeddedBackend()) as backend:
        prepare_embedded(backend, small_house, episode, lambda task: looking).run()
        frame = backend.observe("agent_0").cameras["hand"]
    found, other = looking.pictures["agent_0"], looking.pictures["agent_1"]
    assert found is not None
    assert (found.image == frame.rgb).all()
    assert other is not None
    assert other.digest != found.digest


def test_a_world_without_cameras_says_so(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    asked = {
        "function_name": "is_inside",
        "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
    }
    episode = kitchen.task(house).model_copy(update={"evaluation": {"propositions": [asked]}})

    def planner(task: Task) -> Looking:
        return Looking()

    with pytest.raises(PlannerError, match="has no camera 'hand': a graph has no pictures"):
        prepare_graph(GraphBackend(), house, episode, planner).run()
