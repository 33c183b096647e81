"""EPM's updater: the prompt of a vision-language model, the grammar of its edits, its parser."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import cv2
import numpy as np

from planner.memory.camera import unproject
from planner.memory.operations import (
    GRID_CELLS,
    MODEL_IMAGE_PX,
    NO_UPDATES,
    CoordinateFrame,
    Parsed,
    parse,
    to_pixel,
)
from planner.memory.updater import Operation
from planner.memory.wording import coordinates, entity_line
from planner.models.caller import BlockingLoop, Caller, OnCall, ignore_call
from planner.models.chat import ChatModel, Message, Picture, Role, Speaker
from planner.models.replies.form import ReplyError
from planner.world.belief import Entity
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame, Observation, RgbImage

# What EPM's model is shown: a picture, and a prompt of five blocks (EPM-2.2).
#
# World coordinates are those of `map` (z up). The wording of the task is ours; markers, entity
# lines and number formats are the paper's.

TASK = (
    "You keep the memory of a household robot. From its memory so far and what its camera shows "
    "now, say how the memory is to be changed."
)
PREVIOUS_ACTION = "Your previous action is:"
PREVIOUS_MEMORY = "Your previous memory is:"
NEXT_UPDATE = "Your next update is:"
# A cell without any depth nearby stands in the list all the same, so that places keep meaning.
NO_POINT = "(none)"
# How far from a cell's middle its depth may be taken, in pixels of the picture.
_WINDOW_PX = 12


def cell_pixels(width_px: int, height_px: int) -> list[tuple[float, float]]:
    """(u, v) of the middles of the 8x8 cells, row by row from the top, left to right."""
    return [
        ((column + 0.5) * width_px / GRID_CELLS, (row + 0.5) * height_px / GRID_CELLS)
        for row in range(GRID_CELLS)
        for column in range(GRID_CELLS)
    ]


def view_points(frame: CameraFrame) -> list[Vec3 | None]:
    """The 64 points of `map` that the cells' middles show; None where nothing was measured.

    A middle without depth takes the nearest depth of a small window.
    """
    height, width = frame.depth_m.shape
    points: list[Vec3 | None] = []
    for u, v in cell_pixels(width, height):
        depth_m = _depth_near(frame, u, v)
        intrinsics, pose = frame.intrinsics, frame.pose
        points.append(None if depth_m is None else unproject(intrinsics, pose, (u, v), depth_m))
    return points


def _depth_near(frame: CameraFrame, u: float, v: float) -> float | None:
    row, column = int(v), int(u)
    here = float(frame.depth_m[row, column])
    if math.isfinite(here) and here > 0:
        return here
    top, left = max(0, row - _WINDOW_PX), max(0, column - _WINDOW_PX)
    window = frame.depth_m[top : row + _WINDOW_PX + 1, left : column + _WINDOW_PX + 1]
    rows, columns = np.nonzero(np.isfinite(window) & (window > 0))
    if not rows.size:
        return None
    nearest = int(np.argmin(np.hypot(rows + top - row, columns + left - column)))
    return float(window[rows[nearest], columns[nearest]])


def model_image(frame: CameraFrame) -> RgbImage:
    """The picture as the model gets it: (384, 384, 3) uint8, red first."""
    if frame.rgb.shape == (MODEL_IMAGE_PX, MODEL_IMAGE_PX, 3):
        return frame.rgb
    size = (MODEL_IMAGE_PX, MODEL_IMAGE_PX)
    return np.asarray(cv2.resize(frame.rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def update_prompt(
    points: Sequence[Vec3 | None], entities: Sequence[Entity], last_action: str
) -> str:
    """The text beside the picture; ends where the model's answer begins.

    Args:
        points: of `view_points`.
        entities: the entity list; printed by number.
        last_action: as `Pick[Object.149]`; "" before the first.
    """
    lines = [entity_line(e) for e in sorted(entities, key=lambda e: e.entity_id)]
    view = ", ".join(NO_POINT if point is None else coordinates(point) for point in points)
    action = f"{PREVIOUS_ACTION} {last_action}".rstrip()
    return "\n".join([TASK, view, action, PREVIOUS_MEMORY, *lines, NEXT_UPDATE])


# EPM's answers as a form of reply: the grammar for the entities of the moment, and the parser.
#
# Plain GBNF only (literals, alternatives, groups, stars), which vLLM, llama.cpp and llguidance all
# read. It lets through what the strict parser reads and what the entity list would not refuse for
# its number; whether a pixel has depth the list finds out.

# From 0 to one less than the model's picture is wide.
_BELOW_384 = '([0-9] | [1-9] [0-9] | [1-2] [0-9] [0-9] | "3" [0-7] [0-9] | "38" [0-3])'
_DIGIT = "[0-9]"
_COORDINATE = {
    CoordinateFrame.PIXEL_384: _BELOW_384,
    CoordinateFrame.NORMALIZED: f'("0." {_DIGIT} {_DIGIT} {_DIGIT})',
    CoordinateFrame.GRID_8: f"[0-{GRID_CELLS - 1}]",
}


def operation_grammar(
    entities: Sequence[Entity], frame: CoordinateFrame = CoordinateFrame.PIXEL_384
) -> str:
    """GBNF of `No updates` or lines of Add, Update and Remove (EPM-2.3)."""
    removable = [e.entity_id for e in entities if not e.is_furniture and not e.picked]
    kinds = ["add"]
    rules = ['add ::= "Add " point ":" text']
    if entities:
        kinds.append("update")
        rules.append('update ::= "Update " known " " point ":" text')
        rules.append(f"known ::= {_one_of(e.entity_id for e in entities)}")
    if removable:
        kinds.append("remove")
        rules.append('remove ::= "Remove " gone')
        rules.append(f"gone ::= {_one_of(removable)}")
    rules += [
        'point ::= "(" number ", " number ")"',
        f"number ::= {_COORDINATE[frame]}",
        'text ::= word (" " word)*',
        "word ::= [A-Za-z] [A-Za-z0-9.'-]*",
    ]
    head = [f'root ::= "{NO_UPDATES}" | op ("\\n" op)*', f"op ::= {' | '.join(kinds)}"]
    return "\n".join([*head, *rules]) + "\n"


def _one_of(numbers: Iterable[int]) -> str:
    return " | ".join(f'"{number}"' for number in numbers)


@dataclass(frozen=True)
class OperationsReply:
    """A `planner.models.replies.form.ReplyForm` for these entities."""

    entities: tuple[Entity, ...]
    frame: CoordinateFrame = CoordinateFrame.PIXEL_384
    max_tokens: int = 512
    stop: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF of the moment."""
        return operation_grammar(self.entities, self.frame)

    def read(self, text: str, *, ended: bool) -> Parsed:
        """The operations; an answer that was cut off ends after its last whole one.

        Raises:
            ReplyError: where there is none.
        """
        whole = text if ended else text.rpartition("\n")[0]
        if not whole.strip():
            raise ReplyError("gave no whole operation")
        return parse(whole)


CAMERA: Final = "hand"


class VlmUpdater:
    """Asks a model at each look; see `planner.memory.updater.MemoryUpdater`.

    It is slow: nodes let it look in a thread of its own (`planner.memory.updater`).
    """

    name = "vlm"

    def __init__(
        self,
        model: ChatModel,
        coordinates: CoordinateFrame = CoordinateFrame.PIXEL_384,
        *,
        deadline_s: float = 30.0,
        on_call: OnCall = ignore_call,
        loop: BlockingLoop | None = None,
    ) -> None:
        """Takes the model, what the numbers of its operations are, and how long it may take.

        Args:
            model: takes pictures.
            coordinates: of its operations.
            deadline_s: wall seconds, after which a model in this process is cut off where it is.
            on_call: hears each call of the model, in another thread.
            loop: the one in which the model is asked; None = one of its own.
        """
        self._caller = Caller(
            self.name,
            model,
            Role.MEMORY,
            deadline_s=deadline_s,
            accepts_partial=True,
            on_call=on_call,
        )
        self._loop = loop or BlockingLoop()
        self._coordinates = coordinates
        self._looks = 0
        self.unreadable = 0

    @property
    def counts(self) -> Mapping[str, int]:
        """Lines of answers that were no operation."""
        return {"lines unreadable": self.unreadable}

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        """The edits that the model says; a line that is none is counted in `unreadable`.

        Raises:
            PlannerError: where there is no answer, or nothing whole in it.
        """
        frame = observation.cameras.get(CAMERA)
        if frame is None:
            return []
        self._looks += 1
        prompt = update_prompt(view_points(frame), entities, last_action)
        picture = Picture.of(model_image(frame))
        asking = self._caller.ask(
            (Message(Speaker.USER, prompt, (picture,)),),
            OperationsReply(tuple(entities), self._coordinates),
            cycle=self._looks,
        )
        reply = self._loop.run(asking)
        if reply.value is None:
            raise PlannerError(f"the memory's model {self._caller.model.name} {reply.error}")
        said = reply.value
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
