"""EPM's memory operations as text: grammar, parser and writer (EPM-2.3).

```
output := "No updates" | op { NEWLINE op }
op     := "Add (u, v):description" | "Remove k" | "Update k (u, v):description"
```
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.memory.updater import Operation
from planner.memory.wording import normal_text
from planner.world.entity import OperationKind

NO_UPDATES = "No updates"
MODEL_IMAGE_PX = 384
GRID_CELLS = 8
MAX_CHARACTERS = 100_000
MAX_OPERATIONS = 1000
_NUMBER = r"\s*([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))\s*"
_POINT = rf"\({_NUMBER},{_NUMBER}\)"
_STRICT_ID, _LENIENT_ID = r"(\d{1,9})", r"(?:Object[. ]\s*)?(\d{1,9})"


class CoordinateFrame(StrEnum):
    """What the two numbers of an operation are; the paper does not say."""

    PIXEL_384 = "pixel384"
    NORMALIZED = "normalized"
    GRID_8 = "grid8"


class Reading(StrEnum):
    """How much a parser forgives.

    Strict takes the grammar to the letter; lenient also `Object.149`, other case and blanks,
    and list marks before a line.
    """

    STRICT = "strict"
    LENIENT = "lenient"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text says: its operations in order, and one sentence a line that is none."""

    operations: tuple[Operation, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Patterns:
    add: re.Pattern[str]
    update: re.Pattern[str]
    remove: re.Pattern[str]
    nothing: re.Pattern[str]


def _patterns(number: str, blank: str, flags: int) -> _Patterns:
    return _Patterns(
        add=re.compile(rf"Add{blank}{_POINT}\s*:\s*(.*)", flags),
        update=re.compile(rf"Update {blank}{number}{blank}{_POINT}\s*:\s*(.*)", flags),
        remove=re.compile(rf"Remove {blank}{number}", flags),
        nothing=re.compile(r"No updates\.?", flags),
    )


_BY_READING = {
    Reading.STRICT: _patterns(_STRICT_ID, " ?", re.ASCII),
    Reading.LENIENT: _patterns(_LENIENT_ID, r"\s*", re.ASCII | re.IGNORECASE),
}


def parse(text: str, reading: Reading = Reading.LENIENT) -> Parsed:
    """Reads a model's output; never raises. Coordinates stay in the model's frame.

    A line that is not an operation costs only itself (EPM-2.3).
    """
    if len(text) > MAX_CHARACTERS:
        return Parsed(errors=(f"the text has {len(text)} characters, over {MAX_CHARACTERS}",))
    operations: list[Operation] = []
    errors: list[str] = []
    nothing = False
    for line in text.splitlines():
        if not line.strip():
            continue
        found = _line(line, reading)
        if isinstance(found, Operation):
            operations.append(found)
        elif found is None:
            nothing = True
        else:
            errors.append(found)
        if len(operations) > MAX_OPERATIONS:
            return Parsed(errors=(f"the text has over {MAX_OPERATIONS} operations",))
    if not operations and not errors and not nothing:
        errors.append("the text is empty")
    if operations and nothing:
        errors.append(f"{NO_UPDATES!r} beside operations")
    return Parsed(tuple(operations), tuple(errors))


def _line(line: str, reading: Reading) -> Operation | str | None:
    """The operation of a line, None for `No updates`, or what is wrong."""
    patterns = _BY_READING[reading]
    words = line.strip()
    if reading is Reading.LENIENT:
        words = re.sub(r"^(?:[-*]\s+|\d+[.)]\s+)", "", words)
    if patterns.nothing.fullmatch(words):
        return None
    if match := patterns.remove.fullmatch(words):
        return Operation(OperationKind.REMOVE, entity_id=int(match[1]))
    if match := patterns.add.fullmatch(words):
        return _placed(line, OperationKind.ADD, None, match.groups())
    if match := patterns.update.fullmatch(words):
        number, *rest = match.groups()
        return _placed(line, OperationKind.UPDATE, int(number), rest)
    return f"{line[:80]!r} is not an operation"


def _placed(
    line: str, kind: OperationKind, number: int | None, words: Sequence[str]
) -> Operation | str:
    u, v, description = words
    text = normal_text(description)
    if not text:
        return f"{line[:80]!r} has no description"
    return Operation(kind, entity_id=number, pixel=(float(u), float(v)), description=text)


def write(operations: Sequence[Operation]) -> str:
    """The text of operations with pixels, ids always bare; the inverse of `parse`.

    Raises:
        ValueError: for an Add or Update without pixel or description, or an id that is missing.
    """
    return "\n".join(_written(operation) for operation in operations) or NO_UPDATES


def _written(operation: Operation) -> str:
    if operation.kind is not OperationKind.ADD and operation.entity_id is None:
        raise ValueError(f"an {operation.kind} without an id")
    if operation.kind is OperationKind.REMOVE:
        return f"Remove {operation.entity_id}"
    text = normal_text(operation.description)
    if operation.pixel is None or not all(map(math.isfinite, operation.pixel)) or not text:
        raise ValueError(f"an {operation.kind} without coordinates or description")
    number = "" if operation.kind is OperationKind.ADD else f"{operation.entity_id} "
    u, v = (f"{value:.9f}".rstrip("0").rstrip(".") for value in operation.pixel)
    return f"{operation.kind.value} {number}({u}, {v}):{text}"


def to_pixel(
    coordinates: tuple[float, float], frame: CoordinateFrame, width_px: int, height_px: int
) -> tuple[float, float]:
    """Coordinates of a model as (u, v) of an image; not checked against its borders.

    `grid8` counts (column, row) and stands for the middle of the cell (EPM-2.2).
    """
    a, b = coordinates
    if frame is CoordinateFrame.GRID_8:
        return ((a + 0.5) * width_px / GRID_CELLS, (b + 0.5) * height_px / GRID_CELLS)
    if frame is CoordinateFrame.NORMALIZED:
        return (a * width_px, b * height_px)
    return (a * width_px / MODEL_IMAGE_PX, b * height_px / MODEL_IMAGE_PX)
