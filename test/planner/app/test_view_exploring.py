"""ExploreByView in a run: its pictures are the camera's, and the memory learns from its looks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from planner.app.embedded_run import prepare_embedded
from planner.app.run_options import RunOptions
from planner.memory.features import Features
from planner.planning.planner import AgentResult, Context, Decision
from planner.world.belief import Source
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.observation import RgbImage
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


@dataclass
class Once:
    """Makes one call, then stops."""

    call: SkillCall
    results: list[AgentResult] = field(default_factory=list)
    known: list[int] = field(default_factory=list)
    name = "once"

    async def decide(self, context: Context) -> Decision:
        things = context.belief.of_kind(EntityKind.OBJECT)
        self.known.append(sum(thing.source is Source.SEEN for thing in things))
        call = SkillCall(SkillName.DONE) if self.results else self.call
        return Decision(dict.fromkeys(context.idle, call))

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        self.results += results


@dataclass
class Brightness:
    """Prefers bright pictures, whatever is looked for; notes their shapes."""

    name: str = "brightness"
    shapes: set[tuple[int, ...]] = field(default_factory=set)
    seen: list[float] = field(default_factory=list)

    def picture(self, image: RgbImage) -> Features:
        self.shapes.add(image.shape)
        share = float(image.mean()) / 255
        self.seen.append(share)
        return np.array([share, math.sqrt(1 - share * share)], np.float32)

    def text(self, words: str) -> Features:
        return np.array([1.0, 0.0], np.float32)


@pytest.mark.slow
def test_a_run_explores_by_its_cameras_pictures_and_remembers_what_it_saw(
    small_house: House, small_episode: Episode
) -> None:
    robot = small_episode.agents[0].model_copy(update={"start": (1.2, 1.6, -math.pi / 2)})
    episode = small_episode.model_copy(update={"agents": (robot,)})
    encoder = Brightness()
    planner = Once(SkillCall("ExploreByView", ("find the cup",)))
    backend = EmbeddedBackend(EmbeddedOptions(renderer="rays"))
    try:
        run = prepare_embedded(
            backend,
            small_house,
            episode,
            lambda task: planner,
            RunOptions(acting=("agent_0",), images=False),
        )
        run.encoder = encoder
        run.run()
    finally:
        backend.close()
    result = planner.results[0].result
    assert result.succeeded, result
    assert result.evidence["by_pictures"] == "3"
    assert len(encoder.seen) == 12
    assert encoder.shapes == {(384, 384, 3)}
    assert max(encoder.seen) > min(encoder.seen) > 0
    before, after = planner.known
    assert before == 0
    assert after >= 2
