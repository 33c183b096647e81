"""The statements of a program (HELPER-3), and its text.

A program is data: nothing of it is ever executed as Python.
"""

from __future__ import annotations

from enum import StrEnum

from planner.world.errors import PlannerError
from planner.world.record import record


class Method(StrEnum):
    """What is done with an instance of `InteractionObject`."""

    GO_TO = "go_to"
    PICKUP = "pickup"
    PLACE = "place"
    SLICE = "slice"
    TOGGLE_ON = "toggle_on"
    TOGGLE_OFF = "toggle_off"
    OPEN = "open"
    CLOSE = "close"
    CLEAN = "clean"
    PUT_DOWN = "put_down"
    POUR = "pour"
    FILL_UP = "fill_up"
    PICKUP_AND_PLACE = "pickup_and_place"
    EMPTY = "empty"
    COOK = "cook"
    TOAST = "toast"


WITH_ARGUMENT = frozenset({Method.PLACE, Method.POUR, Method.PICKUP_AND_PLACE})
"""The methods whose argument is another instance; the others have none."""


class Corrective(StrEnum):
    """How `AgentCorrective` moves after a failure."""

    MOVE_BACK = "move_back"
    MOVE_CLOSER = "move_closer"
    MOVE_ALTERNATE_VIEWPOINT = "move_alternate_viewpoint"


ATTRIBUTES = ("toasted", "clean", "cooked")
"""The end states that an instance may be wanted in."""


@record
class Instance:
    """`variable = InteractionObject("Class", landmark="Class", attributes=["clean"])`.

    A new physical thing, also where the variable was bound before.

    Attributes:
        class_name: a name of the vocabulary, such as `CounterTop`.
        landmark: the class that it is on, in or near; "" if the program names none.
        attributes: the end states that are wanted, of `ATTRIBUTES`.
        line: of the program's text, from 1; 0 if it has none.
    """

    variable: str
    class_name: str
    landmark: str = ""
    attributes: tuple[str, ...] = ()
    line: int = 0


@record
class Invocation:
    """`variable.method(argument)`; `argument` is a variable, "" if the method has none."""

    variable: str
    method: Method
    argument: str = ""
    line: int = 0


@record
class Correction:
    """`variable.move()`, where the variable is an `AgentCorrective`."""

    variable: str
    move: Corrective
    line: int = 0


@record
class DoNothing:
    """`do_nothing()`: the repair of a failure that needs none."""

    line: int = 0


Statement = Instance | Invocation | Correction | DoNothing


@record
class Program:
    """A program that was read and checked.

    Attributes:
        statements: in their order.
        text: what was read.
        notes: of each line that was read and has no effect, such as a print.
    """

    statements: tuple[Statement, ...]
    text: str = ""
    notes: tuple[str, ...] = ()


class ProgramError(PlannerError):
    """A text that is not a program: `line` from 1, 0 for the whole, and why."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason
        super().__init__(f"program: line {line}: {reason}" if line else f"program: {reason}")


def program_text(program: Program) -> str:
    """The program as Python text, one statement a line; reading that gives the same statements."""
    lines: list[str] = []
    agents: set[str] = set()
    for statement in program.statements:
        if isinstance(statement, Correction) and statement.variable not in agents:
            agents.add(statement.variable)
            lines.append(f"{statement.variable} = AgentCorrective()")
        if isinstance(statement, Instance):
            agents.discard(statement.variable)
        lines.append(statement_text(statement))
    return "".join(f"{line}\n" for line in lines)


def statement_text(statement: Statement) -> str:
    """One statement as Python text."""
    match statement:
        case Instance(variable, class_name, landmark, attributes):
            words = [f'"{class_name}"']
            words += [f'landmark="{landmark}"'] if landmark else []
            wanted = ", ".join(f'"{word}"' for word in attributes)
            words += [f"attributes=[{wanted}]"] if attributes else []
            return f"{variable} = InteractionObject({', '.join(words)})"
        case Invocation(variable, method, argument):
            return f"{variable}.{method}({argument})"
        case Correction(variable, move):
            return f"{variable}.{move}()"
        case DoNothing():
            return "do_nothing()"
