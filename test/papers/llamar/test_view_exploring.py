"""Exploring by pictures: rounds, headings, sums of similarities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from skill_world import World
from tiny_vision_model import make_tiny_siglip

from papers.llamar.skills import best_heading, heading_scores, least_recent
from planner.memory.features import Features
from planner.skills.attempt import Eye, SkillOptions
from planner.skills.tools import load_view_encoder
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Heading, Pose, heading_of
from planner.world.observation import RgbImage
from planner.world.primitive import Primitive, PrimitiveName
from planner.world.skill import SkillCode

MakeWorld = Callable[..., World]
NORTH, SOUTH, EAST, WEST = Heading


def in_words(heading: Heading) -> str:
    return heading.name.lower()


def vector(*values: float) -> Features:
    return np.array(values, np.float32)


def test_llamar_check_30_sums_decide_not_maxima() -> None:
    """LLAMAR-C30: the north has the largest single similarity."""
    texts = (vector(1, 0, 0), vector(0, 1, 0))
    cosines = {NORTH: (0.30, 0.00), SOUTH: (0.10, 0.10), EAST: (0.20, 0.20), WEST: (0.0, 0.0)}
    views = {
        heading: vector(a, b, math.sqrt(1 - a * a - b * b)) for heading, (a, b) in cosines.items()
    }
    scores = heading_scores(views, texts)
    assert scores[EAST] == pytest.approx(0.40)
    assert scores[NORTH] == pytest.approx(0.30)
    assert best_heading(scores) is EAST


def test_ties_go_to_the_first_of_the_compass() -> None:
    """LLAMAR-D27."""
    assert best_heading(dict.fromkeys(Heading, 0.5)) is NORTH
    assert best_heading({WEST: 0.5, EAST: 0.5}) is EAST
    assert least_recent(()) is NORTH
    assert least_recent((NORTH, SOUTH, NORTH)) is EAST
    assert least_recent((NORTH, SOUTH, WEST, EAST, NORTH)) is SOUTH


def test_headings_turn_to_the_right() -> None:
    assert [heading.right for heading in Heading] == [EAST, WEST, SOUTH, NORTH]
    assert heading_of(math.pi) is heading_of(-math.pi) is WEST
    assert heading_of(0.7) is EAST
    assert heading_of(math.tau + 1.0) is NORTH


@dataclass
class Compass:
    """An encoder that reads where a picture was taken from its pixels, and prefers some words."""

    likes: dict[str, Sequence[float]]
    name: str = "compass"
    read: list[str] = field(default_factory=list)

    def picture(self, image: RgbImage) -> Features:
        found = [*Heading][int(image[0, 0, 0])]
        self.read.append(in_words(found))
        row = np.zeros(4, np.float32)
        row[[*Heading].index(found)] = 1.0
        return row

    def text(self, words: str) -> Features:
        return vector(*self.likes[words])


@dataclass
class Recorder:
    """A world whose agent explores, with the primitives that it did."""

    world: World
    done: list[Primitive] = field(default_factory=list)

    def base(self) -> Pose:
        return self.world.backend.observe("agent_0", ()).base

    def picture(self, agent: str) -> RgbImage:
        number = [*Heading].index(heading_of(self.base().yaw_rad))
        return np.full((4, 4, 3), number, np.uint8)

    def with_eye(self, encoder: Compass | None) -> Recorder:
        executor = self.world.executors["agent_0"]
        eye = None if encoder is None else Eye(encoder, self.picture)
        executor._scene = replace(executor._scene, eye=eye)
        port = executor._scene.port
        start = port.start

        def recorded(primitive: Primitive) -> int:
            self.done.append(primitive)
            return start(primitive)

        port.start = recorded  # type: ignore[method-assign]
        return self

    @property
    def walks(self) -> list[Primitive]:
        return [p for p in self.done if p.name is PrimitiveName.NAVIGATE]


def at(episode: Episode, x: float, y: float, yaw: float) -> Episode:
    first = episode.agents[0].model_copy(update={"start": (x, y, yaw)})
    return episode.model_copy(update={"agents": (first, *episode.agents[1:])})


@pytest.fixture
def explorer(make_world: MakeWorld, small_episode: Episode) -> Recorder:
    return Recorder(make_world(episode=at(small_episode, 1.2, 1.6, math.pi / 2)))


def test_llamar_checks_31_and_32_three_rounds_in_open_space(explorer: Recorder) -> None:
    """LLAMAR-C31, LLAMAR-C32: the east is the first picture of an agent that faces north."""
    encoder = Compass({"find the apple": (0.3, 0, 0.2, 0), "open the box": (0, 0.1, 0.2, 0)})
    explorer.with_eye(encoder)
    start = explorer.base()
    result = explorer.world.run("ExploreByView[find the apple; open the box]")
    assert result.succeeded, result
    # After the first round it faces the east.
    first, then = ["east", "south", "west", "north"], ["south", "west", "north", "east"]
    assert encoder.read == first + then * 2
    headings = [round(walk.heading_rad, 6) for walk in explorer.walks]
    # Turning to the best heading, then two steps that keep it.
    expected = [
        (*around, EAST, EAST, EAST)
        for around in ((EAST, SOUTH, WEST, NORTH), *[(SOUTH, WEST, NORTH, EAST)] * 2)
    ]
    turns = [
        math.remainder(h - e.yaw_rad, math.tau)
        for h, e in zip(headings, [e for one in expected for e in one], strict=True)
    ]
    assert turns == pytest.approx([0.0] * 21, abs=1e-5)
    end = explorer.base()
    assert end.position_m[0] - start.position_m[0] == pytest.approx(1.5, abs=1e-6)
    assert math.dist(end.position_m, start.position_m) <= 1.5 + 1e-6
    assert result.evidence["headings"] == "east east east"
    assert result.evidence["by_pictures"] == "3"
    assert result.evidence["steps"] == "6"


def test_without_an_encoder_the_heading_taken_longest_ago_is_next(explorer: Recorder) -> None:
    """LLAMAR-2.7."""
    explorer.with_eye(None)
    result = explorer.world.run("ExploreByView[find the apple]")
    assert result.succeeded
    assert result.evidence["headings"] == "north south east"
    assert result.evidence["by_pictures"] == "0"
    again = explorer.world.run("ExploreByView[]")
    assert again.evidence["headings"].split()[0] == "west"


def test_without_subtasks_pictures_do_not_decide(explorer: Recorder) -> None:
    encoder = Compass({})
    result = explorer.with_eye(encoder).world.run("ExploreByView[ ]")
    assert result.succeeded
    assert result.evidence["by_pictures"] == "0"
    assert encoder.read == []


def test_a_blocked_step_ends_its_round_only(make_world: MakeWorld, small_episode: Episode) -> None:
    """LLAMAR-D27: 0.5 m from the wall two steps are possible, not six."""
    recorder = Recorder(make_world(episode=at(small_episode, 0.85, 1.6, 0.0)))
    recorder.with_eye(Compass({"look west": (0, 0, 0, 1)}))
    result = recorder.world.run("ExploreByView[look west]")
    assert result.succeeded
    # The second round cannot make one step to the west, so that the third one goes elsewhere.
    assert result.evidence["headings"] == "west west north"
    assert 2 <= int(result.evidence["steps"]) < 6


def test_exploring_where_every_way_that_was_tried_is_blocked_fails(
    make_world: MakeWorld, small_episode: Episode
) -> None:
    recorder = Recorder(make_world(episode=at(small_episode, 0.4, 1.6, 0.0)))
    recorder.with_eye(Compass({"look west": (0, 0, 0, 1)}))
    executor = recorder.world.executors["agent_0"]
    executor._scene = replace(executor._scene, options=SkillOptions(explore_rounds=1))
    result = recorder.world.run("ExploreByView[look west]")
    assert result.code is SkillCode.BLOCKED
    assert result.evidence["steps"] == "0"


def test_a_heading_that_is_blocked_is_not_tried_again_from_there(
    make_world: MakeWorld, small_episode: Episode
) -> None:
    """LLAMAR-D27: the picture beside a wall would win each round, and nobody would ever move."""
    recorder = Recorder(make_world(episode=at(small_episode, 0.4, 1.6, 0.0)))
    recorder.with_eye(Compass({"look": (0.1, 0, 0.2, 1)}))
    result = recorder.world.run("ExploreByView[look]")
    assert result.succeeded
    # It has moved after the second round, so that the best heading is open again.
    assert result.evidence["headings"] == "west east west"


def test_pictures_that_cannot_be_had_end_the_call(explorer: Recorder) -> None:
    class Blind(Compass):
        def picture(self, image: RgbImage) -> Features:
            raise PlannerError("out of memory")

    result = explorer.with_eye(Blind({"x": (1, 0, 0, 0)})).world.run("ExploreByView[x]")
    assert result.code is SkillCode.BACKEND_FAULT
    assert result.text.endswith("cannot be compared with the subtasks: out of memory.")


def test_rounds_and_steps_are_options(make_world: MakeWorld, small_episode: Episode) -> None:
    options = SkillOptions(explore_rounds=1, explore_steps=3)
    recorder = Recorder(make_world(options, at(small_episode, 1.2, 1.6, math.pi / 2)))
    recorder.with_eye(None)
    result = recorder.world.run("ExploreByView[x]")
    assert result.evidence["headings"] == "north"
    assert result.evidence["steps"] == "3"
    assert len(recorder.walks) == 4 + 1 + 3


def test_an_encoder_of_a_folder_compares_pictures_with_words(tmp_path: Path) -> None:
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason=f"needs the extra vlm ({name})")
    encoder = load_view_encoder(str(make_tiny_siglip(tmp_path)))
    assert encoder is not None
    view = encoder.picture(np.full((64, 64, 3), 200, np.uint8))
    # Longer than the model's context.
    text = encoder.text("find the red cup " * 100)
    assert view.shape == text.shape
    assert np.linalg.norm(view) == pytest.approx(1.0, abs=1e-5)
    scores = heading_scores({NORTH: view, EAST: view}, (text,))
    assert -1 <= scores[NORTH] == scores[EAST] <= 1
    assert best_heading(scores) is NORTH


def test_no_folder_is_no_encoder_and_another_one_an_error(tmp_path: Path) -> None:
    assert load_view_encoder("") is None
    with pytest.raises(PlannerError):
        load_view_encoder(str(tmp_path))


def test_words_that_cannot_be_compared_end_the_call(explorer: Recorder) -> None:
    class Mute(Compass):
        def text(self, words: str) -> Features:
            raise PlannerError("the encoder is away")

    result = explorer.with_eye(Mute({})).world.run("ExploreByView[x]")
    assert result.code is SkillCode.BACKEND_FAULT
    assert result.text.endswith("cannot be compared with the subtasks: the encoder is away.")


def test_an_encoder_with_words_of_another_size_ends_the_call(explorer: Recorder) -> None:
    result = explorer.with_eye(Compass({"x": (1, 0, 0)})).world.run("ExploreByView[x]")
    assert result.code is SkillCode.BACKEND_FAULT
    assert result.text.endswith("pictures have 4 numbers and texts 3.")
