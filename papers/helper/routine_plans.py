"""Plans of personal routines: what they bring about, and whether that is what is wanted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import Instance, Invocation, Method, Program
from papers.helper.teach.tasks import Wanted

_COFFEE_MACHINE, _MUG = "CoffeeMachine", "Mug"
# What each device makes of what is on or in it; a stove's knob acts on its burners.
_HEATING: Mapping[str, str] = {
    "Microwave": "cooked",
    "StoveBurner": "cooked",
    "StoveKnob": "cooked",
    "Toaster": "toasted",
}
_BURNERS = {"StoveKnob": "StoveBurner"}
_DEVICES = frozenset({*_HEATING, _COFFEE_MACHINE, "Sink", "SinkBasin", "Faucet"})


@dataclass(slots=True, eq=False)
class PlannedThing:
    """One instance of a program.

    Attributes:
        landmark: the class that the program says it is at; "" = none.
        states: that the program brings about or asks for.
        place: where it is put last; None = nowhere.
    """

    class_name: str
    landmark: str = ""
    states: set[str] = field(default_factory=set)
    place: PlannedThing | None = None

    @property
    def is_device(self) -> bool:
        """Whether it only serves to change other things."""
        return self.class_name in _DEVICES


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """The end of a plan: its things, and what would go wrong on the way, as sentences."""

    things: tuple[PlannedThing, ...]
    faults: tuple[str, ...] = ()


def outcome_of(program: Program) -> PlanOutcome:
    """The outcome of a program that was read and checked."""
    run = _Run()
    for statement in program.statements:
        match statement:
            case Instance(variable, class_name, landmark, attributes):
                thing = PlannedThing(class_name, landmark, set(attributes))
                run.bound[variable] = thing
                run.things.append(thing)
            case Invocation(variable, method, argument):
                run.call(run.bound[variable], method, run.bound.get(argument))
            case _:
                pass
    return PlanOutcome(tuple(run.things), tuple(run.faults))


@dataclass(slots=True)
class _Run:
    things: list[PlannedThing] = field(default_factory=list)
    bound: dict[str, PlannedThing] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def call(self, thing: PlannedThing, method: Method, at: PlannedThing | None) -> None:
        match method:
            case Method.PICKUP | Method.PUT_DOWN:
                thing.place = None
            case Method.PLACE | Method.PICKUP_AND_PLACE if at is not None:
                self._put(thing, at)
            case Method.SLICE:
                thing.states.add("sliced")
            case Method.CLEAN:
                thing.states.add("clean")
            case Method.COOK:
                thing.states.add("cooked")
            case Method.TOAST:
                thing.states.add("toasted")
            case Method.FILL_UP:
                thing.states.add("water")
            case Method.POUR if at is not None:
                self._pour(thing, at)
            case Method.EMPTY:
                thing.states -= {"water", "coffee"}
                for other in self._at(thing):
                    other.place = None
            case Method.TOGGLE_ON:
                self._switch_on(thing)
            case _:
                pass

    def _put(self, thing: PlannedThing, at: PlannedThing) -> None:
        others = [other for other in self._at(at) if other.class_name == _MUG]
        if at.class_name == _COFFEE_MACHINE and thing.class_name == _MUG and others:
            self.faults.append("two mugs are in the coffee machine at once")
        thing.place = at

    def _at(self, holder: PlannedThing) -> list[PlannedThing]:
        """What is on or in it; of a device, any instance of the class is the same one."""

        def is_there(place: PlannedThing | None) -> bool:
            return place is not None and (
                place is holder or (holder.is_device and place.class_name == holder.class_name)
            )

        return [thing for thing in self.things if is_there(thing.place)]

    def _pour(self, source: PlannedThing, target: PlannedThing) -> None:
        poured = source.states & {"water", "coffee"}
        target.states |= poured
        source.states -= poured

    def _switch_on(self, device: PlannedThing) -> None:
        name = device.class_name
        holder = PlannedThing(_BURNERS.get(name, name))
        inside = self._at(holder)
        inside += [deeper for thing in inside for deeper in self._at(thing)]
        if name in _HEATING:
            for thing in inside:
                thing.states.add(_HEATING[name])
        elif name == _COFFEE_MACHINE:
            for thing in inside:
                thing.states.add("coffee")
        elif name == "Faucet":
            basins = [PlannedThing("Sink"), PlannedThing("SinkBasin")]
            for thing in (t for basin in basins for t in self._at(basin)):
                thing.states |= {"clean", "water"}


# Whether a plan is the routine that was asked for (HELPER-C43, HELPER-D85).


@dataclass(frozen=True, slots=True)
class PlanScore:
    """A judgement; `faults` are sentences, none for a right plan."""

    faults: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether the plan is what was asked for."""
        return not self.faults


def score_plan(program: Program, wanted: Sequence[Wanted]) -> PlanScore:
    """Judges a plan: exactly what is wanted, at one and the same place, and nothing else of it.

    Args:
        program: that was read and checked.
        wanted: the parts of the result.
    """
    outcome = outcome_of(program)
    choices = [
        _faults(outcome.things, wanted, places) for places in _places(outcome.things, wanted)
    ]
    return PlanScore((*outcome.faults, *min(choices, key=len)))


def _places(
    things: Sequence[PlannedThing], wanted: Sequence[Wanted]
) -> Iterator[Mapping[str, PlannedThing | None]]:
    """For each class of places that is wanted, the instance that is meant; each combination."""
    names = list(dict.fromkeys(part.place for part in wanted if part.place))
    used: list[list[PlannedThing | None]] = []
    for name in names:
        found = dict.fromkeys(t.place for t in things if t.place and t.place.class_name == name)
        used.append(list(found) or [None])
    for chosen in itertools.product(*used):
        yield dict(zip(names, chosen, strict=True))


def _faults(
    things: Sequence[PlannedThing],
    wanted: Sequence[Wanted],
    places: Mapping[str, PlannedThing | None],
) -> list[str]:
    faults: list[str] = []
    left = [thing for thing in things if not thing.is_device]
    # A thing that serves as a place can be that part only.
    meant = {id(place) for place in places.values() if place is not None}
    for part in sorted(wanted, key=lambda p: (not p.place, -len(p.states))):
        fit = [thing for thing in left if _fits(thing, part, places)]
        fit.sort(key=lambda thing: id(thing) not in meant)
        for thing in fit[: part.number]:
            left.remove(thing)
        if len(fit) < part.number:
            faults.append(f"{_words(part)}: wanted {part.number}, planned {len(fit)}")
    faults += [f"not wanted: {_thing_words(thing)}" for thing in left if _is_result(thing, places)]
    return faults


def _fits(thing: PlannedThing, part: Wanted, places: Mapping[str, PlannedThing | None]) -> bool:
    return (
        thing.class_name == part.class_name
        and thing.states >= set(part.states)
        and (not part.place or (thing.place is not None and thing.place is places[part.place]))
    )


def _is_result(thing: PlannedThing, places: Mapping[str, PlannedThing | None]) -> bool:
    """Whether something that nobody wanted is left at a place of the result, or was made."""
    if thing.place is not None and thing.place.class_name in places:
        return True
    is_means = thing.place is not None and thing.place.is_device
    return bool(thing.states & {"clean", "coffee", "water"}) and not is_means


def _words(part: Wanted) -> str:
    place = f" at {part.place}" if part.place else ""
    return f"{' '.join([*part.states, part.class_name])}{place}"


def _thing_words(thing: PlannedThing) -> str:
    place = f" at {thing.place.class_name}" if thing.place is not None else ""
    return f"{' '.join([*sorted(thing.states), thing.class_name])}{place}"


# A right plan for what is wanted: what a routine's lesson would leave in the memory.

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
