"""What a program would bring about, without a world (HELPER-D85).

Each instance is a thing of its own. Every call is assumed to succeed, with what it needs done
first, as the interpreter does; what a device does to what is in it follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.planning.programs.program import Instance, Invocation, Method, Program

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
