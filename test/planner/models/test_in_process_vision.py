"""A LLaVA-OneVision class model in this process, of random weights that the test makes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from memory_samples import flat_frame, layout_of
from tiny_vision_model import make_tiny_vision_model

from planner.memory.memory import Memory
from planner.memory.operations import CoordinateFrame, Reading, parse
from planner.memory.vlm import operation_grammar
from planner.models.chat import Message, ModelError, Picture, Request, Speaker
from planner.models.in_process_vision import InProcessVision, load_vision_model
from planner.world.errors import PlannerError
from planner.world.observation import Observation

NEEDED = ("torch", "transformers", "llguidance")
IMAGE = np.zeros((384, 384, 3), np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in NEEDED:
        pytest.importorskip(name, reason=f"needs the extra vlm ({name})")
    return make_tiny_vision_model(tmp_path_factory.mktemp("vlm"))


def answer(model: InProcessVision, shade: int, prompt: str, grammar: str, most: int = 512) -> str:
    picture = Picture.of(np.full((384, 384, 3), shade, np.uint8))
    asked = (Message(Speaker.USER, prompt, (picture,)),)
    request = Request(asked, grammar=grammar, max_tokens=most, accepts_partial=True)
    return asyncio.run(model.complete(request)).text


def test_random_weights_say_only_what_the_grammar_lets_through(folder: Path) -> None:
    model = InProcessVision(folder)
    layout = Memory(layout_of(2), None).snapshot().entities
    said = set()
    for shade in (0, 80, 160, 250):
        for grammar in (operation_grammar([]), operation_grammar(layout)):
            text = answer(model, shade, f"a prompt {shade}", grammar, 48)
            whole = text if text == "No updates" else text.rpartition("\n")[0]
            if whole:
                assert parse(whole, Reading.STRICT).errors == ()
                said.add(whole)
    assert said


def test_another_grammar_is_another_answer(folder: Path) -> None:
    model = InProcessVision(folder)
    for word in ("Remove 149", "No updates"):
        assert answer(model, 0, "a prompt", f'root ::= "{word}"\n') == word
    with pytest.raises(ModelError, match="bad grammar"):
        answer(model, 0, "a prompt", "root ::= (\n")
    with pytest.raises(ModelError, match="reads one picture, got 0"):
        asyncio.run(model.complete(Request((Message(Speaker.USER, "blind"),))))


def test_the_picture_and_the_prompt_reach_the_model(folder: Path) -> None:
    loaded = load_vision_model(folder)
    asked = loaded.encoded(IMAGE, "a prompt")
    whole = loaded.encoded(IMAGE, "a prompt", "No updates")
    ids = asked["input_ids"][0].tolist()
    assert whole["input_ids"][0].tolist()[: len(ids)] == ids
    picture_tokens = ids.count(loaded.model.config.image_token_id)
    # Two by two patches of the whole picture, and of its one tile with a newline a row.
    assert picture_tokens == 4 + 4 + 2
    assert loaded.tokenizer.decode(whole["input_ids"][0]).endswith("No updates<|im_end|>\n")


def test_the_updater_runs_with_it_and_the_memory_takes_what_it_says(folder: Path) -> None:
    from planner.memory.part import UpdaterModel, UpdaterRequest, load_updater

    model = UpdaterModel(str(folder), coordinates=CoordinateFrame.GRID_8)
    make = load_updater(UpdaterRequest("vlm", model))
    layout = layout_of(2)
    updater = make(layout)
    assert updater.name == "vlm"
    memory = Memory(layout, updater)
    for step in range(2):
        try:
            memory.observe(Observation.at_rest(float(step), flat_frame()))
        except PlannerError as error:
            assert "gave no whole operation" in str(error)  # noqa: PT017 - random weights ramble
    assert memory.refused == 0
    assert [e for e in memory.snapshot().entities if e.is_furniture]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ("empty", "no readable config.json"),
        ("kind", "model_type is 'qwen2', not 'llava_onevision'"),
        ("weights", "cannot be loaded"),
    ],
)
def test_a_folder_that_is_no_model_is_one_clear_error(
    folder: Path, tmp_path: Path, spoil: str, message: str
) -> None:
    if spoil == "kind":
        (tmp_path / "config.json").write_text('{"model_type": "qwen2"}')
    if spoil == "weights":
        for file in folder.iterdir():
            if file.name != "model.safetensors":
                (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(PlannerError, match=message):
        load_vision_model(tmp_path)
