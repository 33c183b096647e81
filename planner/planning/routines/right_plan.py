"""A right plan for what is wanted: what a routine's lesson would leave in the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.episodes.teach.routines import Wanted
from planner.planning.programs.parsing import parse_program
from planner.planning.programs.program import Program

_SLICED = "Sliced"
_MAKES = {"toasted": "toast", "cooked": "cook", "water": "fill_up"}


def right_plan(wanted: Sequence[Wanted]) -> Program:
    """The program that brings about exactly what is wanted, each thing with a name of its own.

    Raises:
        ProgramError: if a class is unknown.
    """
    return parse_program("\n".join(_lines(wanted)) + "\n")


def _lines(wanted: Sequence[Wanted]) -> Iterator[str]:
    places = list(dict.fromkeys(part.place for part in wanted if part.place))
    for whole in dict.fromkeys(
        part.class_name.removesuffix(_SLICED)
        for part in wanted
        if part.class_name.endswith(_SLICED)
    ):
        yield f'{_variable(whole)} = InteractionObject("{whole}")'
        yield f"{_variable(whole)}.slice()"
    for place in places:
        yield f'{_variable(place)} = InteractionObject("{place}")'
    if any("coffee" in part.states for part in wanted):
        yield 'coffee_machine = InteractionObject("CoffeeMachine")'
    for part in sorted(wanted, key=lambda part: part.class_name not in places):
        for number in range(1, part.number + 1):
            yield from _thing(part, number, part.class_name in places)


def _thing(part: Wanted, number: int, is_place: bool) -> Iterator[str]:
    name = _variable(part.class_name)
    if not is_place:
        name = f"{name}_{number}"
        yield f'{name} = InteractionObject("{part.class_name}")'
    for state in part.states:
        if state == "clean":
            yield f"{name}.clean()"
        elif state == "coffee":
            yield f"{name}.pickup_and_place(coffee_machine)"
            yield "coffee_machine.toggle_on()"
            yield "coffee_machine.toggle_off()"
            yield f"{name}.pickup()"
        else:
            yield f"{name}.{_MAKES[state]}()"
    if part.place:
        yield f"{name}.pickup_and_place({_variable(part.place)})"
    elif part.states:
        yield f"{name}.put_down()"


def _variable(class_name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in class_name).strip("_")
