"""The forms of a model's replies when it writes tasks and evaluations (PARTNR-4.4)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from planner.models.replies.form import ReplyError, check_length
from planner.world.files import FileModel

MAX_TASKS = 10
_MARK = "JSON_OUTPUT:"
_CALL = r'[a-z] [a-z_]{2,20} "(" [^()\n]{1,400} ")"'


class Placed(FileModel):
    """A record of an initial state; without `number` it means one (PARTNR-D33)."""

    number: Annotated[int, Field(ge=1, le=8)] = 1
    object_classes: Annotated[tuple[str, ...], Field(min_length=1, max_length=8)]
    furniture_names: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    allowed_regions: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    object_states: Annotated[dict[str, bool], Field(max_length=8)] = Field(default_factory=dict)


class Task(FileModel):
    """A proposed task."""

    instruction: Annotated[str, Field(min_length=10, max_length=1000)]
    initial_state: Annotated[tuple[Placed, ...], Field(min_length=1, max_length=20)]


_TASK_LIST = TypeAdapter(list[Task])


@dataclass(frozen=True)
class TaskList:
    """The form of several tasks: free text, and a JSON list after JSON_OUTPUT: (PARTNR-D32)."""

    grammar: str = ""
    stop: tuple[str, ...] = ()
    max_tokens: int = 3000

    def read(self, text: str, *, ended: bool) -> tuple[Task, ...]:
        """The tasks.

        Raises:
            ReplyError: if there is no such list, or it has other content.
        """
        check_length(text)
        _, mark, rest = text.rpartition(_MARK)
        begin = rest.find("[")
        if not mark or begin < 0:
            raise ReplyError(f"the reply has no list after {_MARK}")
        try:
            found, _ = json.JSONDecoder(strict=False).raw_decode(rest, begin)
            return tuple(_TASK_LIST.validate_python(found)[:MAX_TASKS])
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ReplyError(f"{where}: {first['msg']}") from None
        except (ValueError, RecursionError) as error:
            why = "" if ended else "; it was cut off"
            raise ReplyError(f"the list is not JSON: {error}{why}") from None


@dataclass(frozen=True)
class Calls:
    """The form of propositions: calls between [FN] and [/FN]."""

    grammar: str = f'root ::= "[FN]\\n" line{{1,24}} "[/FN]\\n[END]"\nline ::= {_CALL} "\\n"\n'
    stop: tuple[str, ...] = ("[END]",)
    max_tokens: int = 1200

    def read(self, text: str, *, ended: bool) -> tuple[str, ...]:
        """The calls as text, not yet parsed.

        Raises:
            ReplyError: if there are none.
        """
        check_length(text)
        inside = text.rpartition("[FN]")[2].partition("[/FN]")[0]
        lines = [line.strip() for line in inside.splitlines() if line.strip()]
        if not ended and "[/FN]" not in text:
            lines = lines[:-1]
        if not lines:
            raise ReplyError("the reply has no calls between [FN] and [/FN]")
        return tuple(lines)


@dataclass(frozen=True)
class Assignment:
    """The form of one line `NAME = [...]`.

    Attributes:
        name: of what is assigned.
    """

    name: str
    stop: tuple[str, ...] = ()
    max_tokens: int = 400

    @property
    def grammar(self) -> str:
        """GBNF of the line."""
        return f'root ::= "{self.name} = [" [A-Za-z0-9_(), \\[\\]=]{{0,600}} "]"\n'

    def read(self, text: str, *, ended: bool) -> str:
        """The line as Python text, not yet parsed.

        Raises:
            ReplyError: if there is none.
        """
        check_length(text)
        found = re.findall(rf"{self.name}\s*=\s*(\[.*\])", text)
        if not found:
            why = "" if ended else "; it was cut off"
            raise ReplyError(f"the reply has no {self.name} = [...]{why}")
        return f"{self.name} = {found[-1]}"
