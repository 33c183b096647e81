"""EPM's updater: a vision-language model reads picture, memory and last action, and says edits.

The model is anything that answers a picture with text (`Seer`); an OpenAI-compatible server is
one. What it says is held to the grammar of the moment while it decodes, where the server can,
and read by the forgiving parser in any case (EPM-2.2 and EPM-2.3).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

import cv2
import numpy as np

from planner.memory.epm_prompt import model_image, update_prompt, view_points
from planner.memory.operation_grammar import operation_grammar
from planner.memory.operations import CoordinateFrame, parse, to_pixel
from planner.memory.updater import Operation
from planner.world.entity import Entity
from planner.world.errors import PlannerError
from planner.world.observation import Observation, RgbImage

CAMERA: Final = "hand"
MOST_TOKENS = 512


class Seer(Protocol):
    """A model that looks at a picture."""

    def answer(self, image: RgbImage, prompt: str, grammar: str) -> str:
        """The text that follows the prompt.

        Args:
            image: (384, 384, 3) uint8, red first.
            prompt: the text beside it.
            grammar: GBNF that the answer is to be of.

        Raises:
            PlannerError: where there is no answer.
        """


class VlmUpdater:
    """Asks a model at each look; see `planner.memory.updater.MemoryUpdater`.

    It is slow: nodes let it look in a thread of its own (`planner.memory.background`).
    """

    name = "vlm"

    def __init__(
        self, seer: Seer, coordinates: CoordinateFrame = CoordinateFrame.PIXEL_384
    ) -> None:
        """Takes the model, and what the numbers of its operations are."""
        self._seer = seer
        self._coordinates = coordinates
        self.unreadable = 0

    @property
    def counts(self) -> Mapping[str, int]:
        """Lines of answers that were no operation."""
        return {"lines unreadable": self.unreadable}

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        """The edits that the model says; a line that is none is counted in `unreadable`."""
        frame = observation.cameras.get(CAMERA)
        if frame is None:
            return []
        prompt = update_prompt(view_points(frame), entities, last_action)
        grammar = operation_grammar(entities, self._coordinates)
        said = parse(self._seer.answer(model_image(frame), prompt, grammar))
        self.unreadable += len(said.errors)
        height, width = frame.depth_m.shape
        return [
            operation
            if operation.pixel is None
            else replace(
                operation, pixel=to_pixel(operation.pixel, self._coordinates, width, height)
            )
            for operation in said.operations
        ]


class ServerSeer:
    """A model behind an OpenAI-compatible server that takes pictures, such as vLLM."""

    def __init__(self, url: str, model: str, *, timeout_s: float = 30.0, key: str = "") -> None:
        """Takes the server's address (`.../v1`) and its name for the model."""
        from openai import OpenAI

        self._client = OpenAI(base_url=url, api_key=key or "none", timeout=timeout_s, max_retries=0)
        self._model = model

    def answer(self, image: RgbImage, prompt: str, grammar: str) -> str:
        """See `Seer`; the grammar is sent as vLLM's structured output."""
        from openai import OpenAIError

        content = [
            {"type": "image_url", "image_url": {"url": _data_url(image)}},
            {"type": "text", "text": prompt},
        ]
        try:
            reply = self._client.chat.completions.create(
                model=self._model,
                messages=[{"role": "user", "content": content}],  # type: ignore[list-item,misc]
                max_tokens=MOST_TOKENS,
                temperature=0.0,
                extra_body={"structured_outputs": {"grammar": grammar}},
            )
        except OpenAIError as error:
            raise PlannerError(
                f"the memory's model {self._model} does not answer: {error}"
            ) from None
        text = reply.choices[0].message.content if reply.choices else None
        if not text:
            raise PlannerError(f"the memory's model {self._model} gave an empty answer")
        return text


def _data_url(image: RgbImage) -> str:
    done, body = cv2.imencode(".png", np.ascontiguousarray(image[..., ::-1]))
    if not done:
        raise PlannerError("the picture cannot be encoded")
    return "data:image/png;base64," + base64.b64encode(body.tobytes()).decode()
