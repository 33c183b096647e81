from __future__ import annotations

import base64

import cv2
import numpy as np
import pytest
from chat_server import chat_server

from planner.memory.memory import Memory
from planner.memory.operation_grammar import operation_grammar
from planner.memory.operations import CoordinateFrame
from planner.memory.vlm import ServerSeer, VlmUpdater
from planner.world.entity import Entity
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house_checks import load_house
from planner.world.observation import CameraFrame, Intrinsics, Observation

HOUSE = load_house("train_0")


class Says:
    """A model that says what it is told to."""

    def __init__(self, text: str) -> None:
        self.text, self.prompts = text, list[str]()

    def answer(self, image: np.ndarray, prompt: str, grammar: str) -> str:
        assert image.shape == (384, 384, 3)
        assert grammar.startswith("root ::= ")
        self.prompts.append(prompt)
        return self.text


def look(text: str, frame: CoordinateFrame = CoordinateFrame.PIXEL_384) -> tuple[Memory, Says]:
    says = Says(text)
    memory = Memory(HOUSE, VlmUpdater(says, frame))
    depth = np.full((192, 192), 2.0, np.float32)
    depth[:96, :96] = 0
    lens = Intrinsics(192, 192, 96.0, 96.0, 96.0, 96.0)
    camera = CameraFrame(np.zeros((192, 192, 3), np.uint8), depth, None, lens, Pose((0, 0, 0)))
    memory.observe(Observation.at_rest(1.0, camera))
    return memory, says


def things(memory: Memory) -> list[Entity]:
    return [e for e in memory.snapshot().entities if not e.is_furniture]


def test_an_add_lands_where_the_models_pixel_is_in_a_smaller_picture() -> None:
    memory, says = look("Add (288, 192):cup")
    (cup,) = things(memory)
    assert cup.position_m == pytest.approx((1.0, 0.0, 2.0))
    assert cup.seen_distance_m == pytest.approx(2.0)
    assert says.prompts[0].endswith("Your next update is:")


def test_the_grid_as_coordinates() -> None:
    memory, _ = look("Add (7, 7):cup", CoordinateFrame.GRID_8)
    assert things(memory)[0].position_m == pytest.approx((1.75, 1.75, 2.0))


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("Update 9999 (200, 200):cup", 1),
        ("Add (10, 10):cup", 1),
        ("Add (384, 10):cup", 1),
        ("Remove 100", 1),
        ("No updates", 0),
        ("garbage \x00 \ud83d", 0),
        ("Add (200, 2", 0),
    ],
)
def test_what_cannot_be_applied_is_refused_counted_and_harms_nothing(
    text: str, refused: int
) -> None:
    memory, _ = look(text)
    assert things(memory) == []
    assert memory.refused == refused


def test_ten_thousand_operations_are_none() -> None:
    memory, _ = look("Add (200, 200):cup\n" * 10_000)
    assert things(memory) == []


def test_the_grammar_names_only_what_may_be_changed() -> None:
    table = Entity(100, "table_0", "table", True, "table", (0.0, 0.0, 0.0))
    cup = Entity(149, "cup_0", "cup", False, "cup", (0.0, 0.0, 0.0))
    text = operation_grammar([table, cup])
    assert 'known ::= "100" | "149"' in text
    assert 'gone ::= "149"' in text
    assert "Remove" not in operation_grammar([table])
    assert "[0-7]" in operation_grammar([table], CoordinateFrame.GRID_8)


def test_a_server_gets_picture_prompt_and_grammar() -> None:
    image = np.zeros((384, 384, 3), np.uint8)
    image[..., 0] = 200
    said = "Add (200, 200):cup"
    with chat_server([said]) as (url, asked):
        assert ServerSeer(url, "tiny").answer(image, "a prompt", "root ::= x") == said
    (body,) = asked
    picture, text = body["messages"][0]["content"]
    raw = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
    back = cv2.imdecode(np.frombuffer(raw, np.uint8), cv2.IMREAD_COLOR)
    assert back[0, 0].tolist() == [0, 0, 200]
    assert text == {"type": "text", "text": "a prompt"}
    assert body["structured_outputs"] == {"grammar": "root ::= x"}


def test_a_server_that_is_away_is_one_clear_error() -> None:
    with (
        chat_server([""], status=503) as (url, _asked),
        pytest.raises(PlannerError, match="away does not answer"),
    ):
        ServerSeer(url, "away").answer(np.zeros((384, 384, 3), np.uint8), "p", "g")
