"""A program as the things that it prepares, to leave out, repeat or exchange (HELPER-D31)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from papers.helper.programs.program import Instance, Invocation, Method, Program, Statement
from papers.helper.request_words import SLICED, family

TOOLS = frozenset({"Knife", "ButterKnife"})
ONE_AT_A_TIME = frozenset({"CoffeeMachine", "Toaster", "Microwave"})
"""Machines that hold one thing."""
_CARRIED = frozenset({
    Method.PICKUP, Method.PICKUP_AND_PLACE, Method.PLACE, Method.PUT_DOWN, Method.CLEAN,
    Method.COOK, Method.TOAST, Method.FILL_UP, Method.POUR,
})  # fmt: skip
_PLACING = (Method.PLACE, Method.PICKUP_AND_PLACE)
_SWITCHED = frozenset({Method.TOGGLE_ON, Method.TOGGLE_OFF, Method.OPEN, Method.CLOSE})
_SERVING = frozenset({Method.TOGGLE_ON, Method.TOGGLE_OFF, Method.GO_TO})


@dataclass(frozen=True, slots=True)
class Step:
    """A statement, and the variable of the item that it is for; "" = the whole program."""

    statement: Instance | Invocation
    owner: str = ""


class ProgramItems:
    """The steps of a plan; each variable is bound once."""

    def __init__(self, program: Program) -> None:
        bound = _bound_once(program.statements)
        self.classes = {one.variable: one.class_name for one in bound if isinstance(one, Instance)}
        self.steps = [Step(statement) for statement in bound]
        self._tools: set[str] = set()
        cuts = any(call.method is Method.SLICE for call in self._calls())
        self._tools = {v for v, name in self.classes.items() if cuts and name in TOOLS}
        self._places = {v for v in self.classes if self.users(v)} - set(self.items())
        self._own()

    def _own(self) -> None:
        """Finds for each step the item that it is for."""
        items = set(self.items())
        self.steps = [
            replace(step, owner=self._of_item(place, items))
            for place, step in enumerate(self.steps)
        ]
        for place, step in enumerate(self.steps):
            if not step.owner and isinstance(step.statement, Invocation):
                owner = self._served(place, step.statement, items)
                self.steps[place] = replace(step, owner=owner)

    def _of_item(self, place: int, items: Collection[str]) -> str:
        """The item that is handled; of walking to where another is put, that one."""
        one = self.steps[place].statement
        after = self.steps[place + 1].statement if place + 1 < len(self.steps) else None
        walks = isinstance(one, Invocation) and one.method is Method.GO_TO
        if walks and isinstance(after, Invocation) and after.argument == one.variable:
            return after.variable if after.variable in items else ""
        return one.variable if one.variable in items else ""

    def _served(self, place: int, statement: Invocation, items: Collection[str]) -> str:
        """The item for which furniture or a machine is walked to or switched."""
        if statement.method not in _SERVING:
            return ""
        before = [step for step in reversed(self.steps[:place]) if step.owner in items]
        users = self.users(statement.variable)
        if before and before[0].owner in users:
            return before[0].owner
        later = [step.owner for step in self.steps[place:] if step.owner in users]
        earlier = [step.owner for step in before if step.owner in users]
        return next(iter([*later, *earlier]), "")

    def items(self) -> list[str]:
        """The things that a program is for, in order: what it carries, else what it switches."""
        calls = self._calls()
        found = [call.variable for call in calls if call.method in _CARRIED]
        found = found or [call.variable for call in calls if call.method in _SWITCHED]
        return [v for v in dict.fromkeys(found) if v not in self._tools]

    def _calls(self, variable: str = "") -> list[Invocation]:
        calls = [one.statement for one in self.steps if isinstance(one.statement, Invocation)]
        return [call for call in calls if not variable or call.variable == variable]

    def users(self, place: str) -> list[str]:
        """The items that are put or poured onto, into a thing, in order."""
        return list(dict.fromkeys(s.variable for s in self._calls() if s.argument == place))

    def of_family(self, name: str) -> list[str]:
        """The items of a class: slices where there are any, else the whole things."""
        found = [v for v in self.items() if family(self.classes[v]) == family(name)]
        cut = [v for v in found if self.classes[v].endswith(SLICED)]
        return cut or found

    def through(self, machine: str) -> list[str]:
        """The items that are put into a machine of a class."""
        return [v for v in self.items() if machine in self._visited(v)]

    def _visited(self, item: str) -> list[str]:
        return [self.classes[s.argument] for s in self._calls(item) if s.argument]

    def methods(self, item: str) -> set[Method]:
        """What is done with an item."""
        return {call.method for call in self._calls(item)}

    def target(self, item: str) -> str:
        """The variable of what an item is put onto or into last; "" = put down, or nowhere."""
        last = [call for call in self._calls(item) if call.method in (*_PLACING, Method.PUT_DOWN)]
        return last[-1].argument if last else ""

    def containers(self) -> list[str]:
        """The items onto or into which others are put."""
        return [item for item in self.items() if any(self.target(v) == item for v in self.items())]

    def leave_out(self, items: Collection[str]) -> None:
        """Removes items with all that is done for them alone."""
        gone = set(items)
        self.steps = [
            step
            for step in self.steps
            if step.owner not in gone
            and not (isinstance(step.statement, Invocation) and step.statement.argument in gone)
        ]

    def _prune(self) -> None:
        """Removes what no longer serves anything: uncut food's cutting, tools, unused variables."""
        cut = {family(self.classes[v]) for v in self.items() if self.classes[v].endswith(SLICED)}
        whole = set(self.items())
        idle = {
            call.variable
            for call in self._calls()
            if call.method is Method.SLICE
            and call.variable not in whole
            and self.classes[call.variable] not in cut
        }
        self._drop(idle)
        if not any(call.method is Method.SLICE for call in self._calls()):
            self._drop(self._tools)
        # A fridge that was opened for a thing that is not wanted any more stays closed.
        self._drop({place for place in self._places if not self.users(place)})
        used = {call.variable for call in self._calls()} | {call.argument for call in self._calls()}
        self._drop(set(self.classes) - used)

    def _drop(self, variables: Collection[str]) -> None:
        self.steps = [step for step in self.steps if step.statement.variable not in variables]
        for variable in variables:
            self.classes.pop(variable, None)

    def repeat(self, item: str, times: int) -> None:
        """Does all that is done for an item so many times more, each with another thing."""
        block = [step for step in self.steps if step.owner == item]
        end = max(place for place, step in enumerate(self.steps) if step.owner == item) + 1
        stays = self.target(item)
        added: list[Step] = []
        for _ in range(times):
            if stays and self.classes[stays] in ONE_AT_A_TIME:
                added += self._out_of_machine(item)
            item = self._new(self.classes[item])
            added += [_renamed(step, block[0].owner, item) for step in block]
        self.steps[end:end] = added

    def _out_of_machine(self, item: str) -> list[Step]:
        counter = self._new("CounterTop")
        return [
            Step(Instance(counter, "CounterTop")),
            *(Step(Invocation(item, method), item) for method in (Method.GO_TO, Method.PICKUP)),
            Step(Invocation(counter, Method.GO_TO), item),
            Step(Invocation(item, Method.PLACE, counter), item),
        ]

    def _new(self, class_name: str) -> str:
        """A variable for a new thing of a class."""
        word = "".join(f"_{c.lower()}" if c.isupper() else c for c in class_name).strip("_")
        taken = set(self.classes)
        numbered = (f"{word}_{n}" for n in range(1, len(taken) + 2))
        variable = next(v for v in (word, *numbered) if v not in taken)
        self.classes[variable] = class_name
        return variable

    def exchange(self, old: str, new: str) -> None:
        """Makes all things of a class, and their slices, things of another one."""
        for place, step in enumerate(self.steps):
            one = step.statement
            if isinstance(one, Instance) and family(one.class_name) == family(old):
                slices = SLICED if one.class_name.endswith(SLICED) else ""
                name = family(new) + slices
                self.classes[one.variable] = name
                # Where the old thing was says nothing of the new one.
                self.steps[place] = replace(
                    step, statement=replace(one, class_name=name, landmark="")
                )

    def place_of(self, class_name: str) -> str:
        """The variable of a place of a class: one that is used already, or a new one."""
        carried = set(self.items())
        known = [v for v, name in self.classes.items() if name == class_name]
        used = [v for v in known if v not in carried or self.users(v)]
        if used:
            return used[0]
        variable = self._new(class_name)
        self.steps.insert(0, Step(Instance(variable, class_name)))
        self._places.add(variable)
        return variable

    def put_all(self, items: Iterable[str], place: str) -> None:
        """Puts items onto or into another place in the end."""
        for item in items:
            old = self.target(item)
            last = max(
                (
                    n
                    for n, step in enumerate(self.steps)
                    if step.statement.variable == item
                    and isinstance(step.statement, Invocation)
                    and step.statement.method in (*_PLACING, Method.PUT_DOWN)
                ),
                default=None,
            )
            if last is None:
                continue
            method = Method.PLACE
            if isinstance(call := self.steps[last].statement, Invocation):
                method = call.method
            if method is Method.PUT_DOWN:
                self.steps[last] = Step(Invocation(item, Method.PLACE, place), item)
                self.steps.insert(last, Step(Invocation(place, Method.GO_TO), item))
                continue
            self.steps[last] = Step(Invocation(item, method, place), item)
            walk = self.steps[last - 1].statement
            if last and walk == Invocation(old, Method.GO_TO, "", walk.line):
                self.steps[last - 1] = Step(Invocation(place, Method.GO_TO), item)

    def append(self, item: str, *calls: Invocation) -> None:
        """Adds calls for an item at the end."""
        self.steps += [Step(call, item) for call in calls]

    def add(self, class_name: str, place: str, methods: Collection[Method] = ()) -> str:
        """Adds a thing that is fetched, prepared and put somewhere at the end; its variable.

        Args:
            class_name: of the thing.
            place: a variable; "" = it is put down.
            methods: that prepare it in the hand.
        """
        item = self._new(class_name)
        calls = [Invocation(item, method) for method in (Method.GO_TO, Method.PICKUP, *methods)]
        if place:
            calls += [Invocation(place, Method.GO_TO), Invocation(item, Method.PLACE, place)]
        else:
            calls.append(Invocation(item, Method.PUT_DOWN))
        self.steps.append(Step(Instance(item, class_name), item))
        self.steps += [Step(call, item) for call in calls]
        return item

    def cut(self, class_name: str) -> None:
        """Has a thing of a class sliced, with the others where there are any, else first of all."""
        if any(
            call.method is Method.SLICE and self.classes[call.variable] == class_name
            for call in self._calls()
        ):
            return
        whole = self._new(class_name)
        steps = [
            Step(Instance(whole, class_name)),
            Step(Invocation(whole, Method.GO_TO)),
            Step(Invocation(whole, Method.SLICE)),
        ]
        cuts = [
            place
            for place, step in enumerate(self.steps)
            if isinstance(step.statement, Invocation) and step.statement.method is Method.SLICE
        ]
        if cuts:
            self.steps[cuts[-1] + 1 : cuts[-1] + 1] = steps
            return
        knife = self._new("Knife")
        self._tools.add(knife)
        fetch = [
            Step(Instance(knife, "Knife")),
            *(Step(Invocation(knife, method)) for method in (Method.GO_TO, Method.PICKUP)),
        ]
        self.steps[:0] = [*fetch, *steps, Step(Invocation(knife, Method.PUT_DOWN))]

    def statements(self) -> tuple[Statement, ...]:
        """The program's statements, without what no longer serves anything."""
        self._prune()
        return tuple(step.statement for step in self.steps)


def _renamed(step: Step, old: str, new: str) -> Step:
    statement = replace(
        step.statement, variable=new if step.statement.variable == old else step.statement.variable
    )
    return Step(statement, new)


def _bound_once(statements: Iterable[Statement]) -> list[Instance | Invocation]:
    """The statements with another variable for each further binding of one."""
    given = list(statements)
    taken = {one.variable for one in given if isinstance(one, Instance)}
    names: dict[str, str] = {}
    found: list[Instance | Invocation] = []
    for one in given:
        if isinstance(one, Instance):
            name = one.variable
            if name in names:
                numbered = (f"{name}_{n}" for n in range(2, len(given) + len(taken) + 3))
                name = next(v for v in numbered if v not in taken)
                taken.add(name)
            names[one.variable] = name
            found.append(replace(one, variable=name, line=0))
        elif isinstance(one, Invocation):
            argument = names[one.argument] if one.argument else ""
            found.append(replace(one, variable=names[one.variable], argument=argument, line=0))
    return found
