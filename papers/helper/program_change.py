"""Changes of a program: as a request says, or of a remembered program into a similar one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from papers.helper.program_items import ONE_AT_A_TIME, ProgramItems
from papers.helper.program_memory import EXAMPLES, ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind
from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import (
    Invocation,
    Method,
    Program,
    ProgramError,
    default_vocabulary,
    program_text,
)
from papers.helper.request_words import (
    COFFEE,
    FUNCTION_WORDS,
    SLICED,
    Mention,
    Reader,
    Role,
    as_slices,
    family,
    said_by_the_person,
    stem_of,
)
from planner.language.english import words
from planner.language.lexicon import default_lexicon
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError

MAX_COUNT = 20
_MACHINE = "CoffeeMachine"
# What has to be among a program's calls where a request has one of the words.
_ACTIONS = (
    (words("wash rinse scrub"), Method.CLEAN),
    (words("boil"), Method.TOGGLE_ON),
    (words("fill"), Method.FILL_UP),
    (words("water"), Method.POUR),
    (words("slice cut chop"), Method.SLICE),
    (words("open"), Method.OPEN),
    (words("close shut"), Method.CLOSE),
)
_OF_THINGS = frozenset({Method.CLEAN, Method.FILL_UP})
_SWITCHING = words("switch turn")
# One of which a request has to have where a program does so.
_REASONS = (
    (Method.CLEAN, words("wash clean cleaned rinse scrub dirty washed")),
    (Method.COOK, words("cook cooked boil boiled heat heated fry fried warm microwave bake baked")),
    (Method.TOAST, words("toast toasted toasts sandwich")),
    (Method.FILL_UP, words("water fill filled boil boiled cook")),
    (Method.POUR, words("water pour")),
    (Method.SLICE, words("slice slices sliced cut chop chopped salad sandwich toast toasts")),
    (
        Method.TOGGLE_ON,
        words(
            "switch turn coffee coffees boil boiled cook cooked heat heated fry fried light dark"
        ),
    ),
)


class MisfitError(PlannerError):
    """A request that a program cannot be made to fit; the text says why."""


@dataclass
class ProgramChange:
    """A program that is being changed."""

    items: ProgramItems
    changes: list[str] = field(default_factory=list)

    def change(self, mentions: Sequence[Mention]) -> None:
        """Changes a routine as a request says; what it does not name stays."""
        rest = self._replace(list(mentions))
        known = [self._found(m) for m in rest]
        for mention, found in zip(rest, known, strict=True):
            if mention.role is Role.ABSENT:
                self._without(mention, found, rest)
        kept = {item for m, found in zip(rest, known, strict=True) if m.only for item in found}
        if kept and all(m.count == 0 for m in rest if m.only):
            others = [v for v in self.items.items() if v not in kept and not self._holds(v, kept)]
            for item in others:
                self._leave_out([item], self.items.classes[item])
        own = self._own_places(rest, known)
        for mention, found in zip(rest, known, strict=True):
            if mention.role is Role.THING and not self._is_place(mention):
                self._thing(mention, found, own.get(id(mention)))
        for mention in rest:
            if mention.role is Role.PLACE and id(mention) not in map(id, own.values()):
                self._everything_to(mention)

    def _without(self, gone: Mention, found: Sequence[str], others: Sequence[Mention]) -> None:
        """Leaves out things; a plate only if it is said where the rest goes."""
        if gone.name not in {self.items.classes[c] for c in self._containers()}:
            self._leave_out(found, gone.name)
        elif not any(m.role is Role.PLACE and m.directly for m in others):
            raise MisfitError(f"it is not said where things go directly without the {gone.name}")

    def fit(self, asked: Reader, request: str) -> None:
        """Changes a described task into another description of the same kind.

        Args:
            asked: the request, read.
            request: its words.

        Raises:
            MisfitError: if the request is about something else.
        """
        rest = [replace(m, adds=False) for m in self._replace(asked.mentions)]
        things = [m for m in rest if m.role is Role.THING and not self._is_place(m)]
        named = [item for mention in things for item in self._found(mention)]
        self._check_actions(request, named)
        self._fit_things(things, named)
        for mention in rest:
            if mention.role is Role.ABSENT:
                self._without(mention, self._found(mention), rest)
        for mention in things:
            self._thing(mention, self._found(mention), None)
        for mention in rest:
            if mention.role is Role.PLACE:
                self._place_of_task(mention)
        self._check_reasons(request)

    def _fit_things(self, things: Sequence[Mention], named: Sequence[str]) -> None:
        """Exchanges, one for one, what only the program is about for what only the request is."""
        main = self._main()
        new = [mention for mention in things if not self._found(mention)]
        wanted = {family(self.items.classes[item]) for item in named}
        had = dict.fromkeys(family(self.items.classes[item]) for item in main)
        gone = [name for name in had if name not in wanted]
        if not things:
            # "Water the plant" does not say with what.
            tools = all(Method.POUR in self.items.methods(item) for item in main)
            if not main or not tools:
                raise MisfitError("the request names nothing that the program is about")
        elif not new and wanted:
            for name in gone:
                self._leave_out(self.items.of_family(name), name)
        elif len(new) != len(gone):
            raise MisfitError("the request is about other things than the program")
        else:
            for mention, old in zip(new, gone, strict=True):
                self._exchange(old, mention.name)

    def _main(self) -> list[str]:
        """The items that are no plates or bowls for others."""
        containers = self.items.containers()
        return [item for item in self.items.items() if item not in containers]

    def _check_actions(self, request: str, named: Sequence[str]) -> None:
        """Whether the program does what the request says.

        Raises:
            MisfitError: if not.
        """
        said = _words_of(request)
        everything = {m for v in self.items.classes for m in self.items.methods(v)}
        done = {m for item in named or self._main() for m in self.items.methods(item)}
        for verbs, method in _ACTIONS:
            of_things = done if method in _OF_THINGS else everything
            if said & verbs and method not in of_things:
                raise MisfitError(f"the program has no {method}, which the request asks for")
        for word, method in (("on", Method.TOGGLE_ON), ("off", Method.TOGGLE_OFF)):
            if said & _SWITCHING and word in said and method not in everything:
                raise MisfitError(f"the program has no {method}, which the request asks for")

    def _check_reasons(self, request: str) -> None:
        """Whether the request asks for what the program does, as it is after all changes.

        Raises:
            MisfitError: if not.
        """
        said = _words_of(request)
        done = {method for v in self.items.classes for method in self.items.methods(v)}
        for method, reasons in _REASONS:
            if method in done and not said & reasons:
                raise MisfitError(f"the program has {method}, which the request does not ask for")

    def _replace(self, mentions: list[Mention]) -> list[Mention]:
        """Exchanges what is named "instead of" something; returns the other mentions."""
        done: set[int] = set()
        for place, old in enumerate(mentions):
            if old.role is not Role.REPLACED:
                continue
            before = [m for m in mentions[:place] if m.clause == old.clause and id(m) not in done]
            after = mentions[place + 1 : place + 2]
            near = after if old.swapped else before[-1:] or after
            if not near:
                raise MisfitError(f"it is not said what to use instead of {old.name}")
            if old.name == COFFEE and self._found(old):
                # Nothing else is made in that machine: what comes instead is added.
                self._leave_out(self._found(old), COFFEE)
                done.add(id(old))
                continue
            done |= {id(old), id(near[0])}
            self._exchange(old.name, as_slices(near[0]).name)
            if found := self._found(near[0]):
                self._thing(near[0], found, None)
        return [m for m in mentions if id(m) not in done]

    def _exchange(self, old: str, new: str) -> None:
        if family(old) not in {family(name) for name in self.items.classes.values()}:
            raise MisfitError(f"the program has no {old}")
        cut = any(name == family(old) + SLICED for name in self.items.classes.values())
        if cut and family(new) + SLICED not in default_vocabulary().by_name:
            raise MisfitError(f"{family(new)} has no slices")
        self.items.exchange(old, new)
        self.changes.append(f"{family(new)} instead of {family(old)}")

    def _found(self, mention: Mention) -> list[str]:
        if mention.name == COFFEE:
            return self.items.through(_MACHINE)
        return self.items.of_family(mention.name)

    def _holds(self, item: str, others: Collection[str]) -> bool:
        return any(self.items.target(other) == item for other in others)

    def _is_place(self, mention: Mention) -> bool:
        """Whether it names a thing that the program uses, but does not carry."""
        carried = set(self.items.items())
        return any(
            name == mention.name for v, name in self.items.classes.items() if v not in carried
        ) and not self._found(mention)

    def _leave_out(self, items: Sequence[str], name: str) -> None:
        if items:
            self.items.leave_out(items)
            self.changes.append(f"no {family(name)}")

    def _thing(self, mention: Mention, found: Sequence[str], place: Mention | None) -> None:
        """Brings the number of a thing to what is asked."""
        there = self.items.items()
        # What an earlier word has added is meant again.
        here = [item for item in found or self._found(mention) if item in there]
        wanted = max(mention.count, 1) + len(here) if mention.adds else mention.count
        if not here:
            wanted = max(mention.count, 1)
        if wanted > MAX_COUNT:
            raise MisfitError(f"{wanted} of {mention.name} are more than {MAX_COUNT}")
        if not here:
            self._add(mention, wanted, place)
        elif wanted not in (0, len(here)):
            name = self.items.classes[here[-1]]
            self._check_slices(name, wanted)
            if wanted < len(here):
                self.items.leave_out(here[wanted:])
            else:
                self.items.repeat(here[-1], wanted - len(here))
            self.changes.append(f"{name}: {wanted} instead of {len(here)}")

    def _check_slices(self, name: str, wanted: int) -> None:
        """One thing is cut, which gives so many slices."""
        if not name.endswith(SLICED):
            return
        objects = default_catalogue().objects
        counts = [
            slices.count
            for one in default_vocabulary().classes_of(family(name))
            if one in objects and (slices := objects[one].slices) is not None
        ]
        if counts and wanted > max(counts):
            raise MisfitError(f"{wanted} slices are more than one {family(name)} gives")

    def _add(self, mention: Mention, count: int, place: Mention | None) -> None:
        if mention.name == COFFEE:
            self._add_coffee(count)
            return
        thing = as_slices(mention)
        self._check_slices(thing.name, count)
        sliced = thing.name.endswith(SLICED)
        if sliced:
            self.items.cut(family(thing.name))
        elif mention.sliced:
            self.changes.append(f"{thing.name} has no slices: it is used whole")
        where = self.items.place_of(place.name) if place else self._where(thing.name)
        methods = self._preparation(thing)
        item = self.items.add(thing.name, where, methods)
        self.items.repeat(item, count - 1)
        self.changes.append(f"{thing.name}: {count} more")

    def _add_coffee(self, count: int) -> None:
        machine = self.items.place_of(_MACHINE)
        item = self.items.add("Mug", machine)
        switches = (Method.TOGGLE_ON, Method.TOGGLE_OFF)
        self.items.append(item, *(Invocation(machine, method) for method in switches))
        self.items.repeat(item, count - 1)
        self.changes.append(f"coffee: {count} more")

    def _preparation(self, thing: Mention) -> list[Method]:
        """What is done with a new thing in the hand: as asked, or as with all others."""
        main = self._main()
        all_clean = bool(main) and all(Method.CLEAN in self.items.methods(v) for v in main)
        return [
            *([Method.CLEAN] if thing.clean or all_clean else []),
            *([Method.COOK] if thing.cooked else []),
            *([Method.TOAST] if thing.toasted else []),
            *([Method.FILL_UP] if thing.water else []),
        ]

    def _where(self, name: str) -> str:
        """Where a new thing belongs: food with the other food, else where most things come."""
        targets = [t for v in self.items.items() if (t := self.items.target(v))]
        targets = [t for t in targets if self.items.classes[t] not in ONE_AT_A_TIME]
        plates = [t for t in targets if _is_portable(self.items.classes[t])]
        others = [t for t in targets if t not in plates]
        if _is_food(name):
            others, plates = plates, others
        best = others or plates
        return max(dict.fromkeys(best), key=best.count) if best else ""

    def _own_places(
        self, mentions: Sequence[Mention], known: Sequence[Sequence[str]]
    ) -> dict[int, Mention]:
        """The places that are said of new things only, by the mention of each."""
        own: dict[int, Mention] = {}
        plates = {self.items.classes[container] for container in self._containers()}
        for place in mentions:
            if place.role is not Role.PLACE or place.everything:
                continue
            same = [
                (m, found)
                for m, found in zip(mentions, known, strict=True)
                if m.clause == place.clause and m.role is Role.THING and not self._is_place(m)
            ]
            # On a plate of the program: what was named right before it, if that is new.
            if place.name in plates:
                before = [one for one in same if _comes_before(one[0], place, mentions)]
                same = before[-1:]
            if same and not any(found for _, found in same):
                own |= {id(m): place for m, _ in same}
        return own

    def _everything_to(self, mention: Mention) -> None:
        """Puts all things somewhere, on what they are served on unless "directly" is said."""
        containers = self._containers()
        if mention.name in {self.items.classes[c] for c in containers}:
            return
        target = self.items.place_of(mention.name)
        served = [v for v in self.items.items() if self.items.target(v) in containers]
        loose = [v for v in self.items.items() if v not in served and v not in containers]
        loose = [
            v for v in loose if self.items.classes.get(self.items.target(v)) not in ONE_AT_A_TIME
        ]
        if mention.directly:
            self.items.put_all([*served, *loose], target)
            self.items.leave_out([c for c in containers if c in self.items.classes])
        else:
            self.items.put_all(loose, target)
            for container in containers:
                self._carry(container, target)
        self.changes.append(f"all to {mention.name}")

    def _carry(self, container: str, target: str) -> None:
        if self.items.target(container):
            self.items.put_all([container], target)
        else:
            self.items.append(container, Invocation(container, Method.PICKUP_AND_PLACE, target))

    def _containers(self) -> list[str]:
        """The plates, bowls and boxes onto or into which things are put, in order."""
        targets = dict.fromkeys(self.items.target(v) for v in self.items.items())
        return [
            target
            for target in targets
            if target
            and _is_portable(self.items.classes[target])
            and self.items.classes[target] not in ONE_AT_A_TIME
        ]

    def _place_of_task(self, mention: Mention) -> None:
        """The place of a described task: another plate or bowl, or another piece of furniture."""
        containers = self._containers()
        if _is_portable(mention.name) and containers:
            for name in {self.items.classes[c] for c in containers} - {mention.name}:
                self._exchange(name, mention.name)
            return
        targets = {self.items.classes.get(self.items.target(v), "") for v in self.items.items()}
        if mention.name not in targets:
            self._everything_to(mention)


def _words_of(request: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", said_by_the_person(request).lower()))


def _comes_before(first: Mention, second: Mention, mentions: Sequence[Mention]) -> bool:
    places = [id(mention) for mention in mentions]
    return places.index(id(first)) < places.index(id(second))


def _is_portable(name: str) -> bool:
    item = default_vocabulary().by_name.get(name)
    return item is not None and bool(item.objects)


def _is_food(name: str) -> bool:
    objects = default_catalogue().objects
    classes = default_vocabulary().classes_of(family(name))
    return any(one in objects and "food" in objects[one].groups for one in classes)


# A remembered program, changed to what is asked for now, without a model (HELPER-D30).
#
# Two kinds of requests are understood: a routine by its name with changes ("the Ann salad without
# lettuce, with three slices of tomato, plus a fork"), and a description that differs from a
# record's in things, counts and places ("put three books on the desk" by "put two pillows on the
# sofa"). A request that names something unknown, or does not fit, is refused with the reason. Only
# nouns and the words around them are read, so what is said in other ways has no effect.

# What many other words of a request hide, a name finds among so many.
_NAMED_AMONG = 20
_ROUTINES = words(
    """
    salad sandwich breakfast lunch dinner supper meal snack coffee tea toast
    rearrangement cleaning tidying watering routine task
    """
)
# Verbs of requests that come right before one of these.
_VERBS = words("prepare start serve cook make want need love like fancy order finish repeat clean")
_NAME = re.compile(r"(?<=[A-Za-z,] )[A-Z][a-z]+")
_BEFORE_ROUTINE = re.compile(
    rf"(?:\b(?:the|my|our)|^|[.,;:!?]) *([a-z]+) (?:{'|'.join(sorted(_ROUTINES))})\b"
)


@dataclass(frozen=True, slots=True)
class Rebound:
    """A program that fits a request.

    Attributes:
        program: parsed anew.
        changes: what differs from the record's, in words.
        record: from which it was made.
    """

    program: Program
    changes: tuple[str, ...]
    record: ProgramRecord


@dataclass(frozen=True, slots=True)
class Unbound:
    """Why a record cannot be made to fit a request."""

    reason: str


def nearest_rebound(memory: ProgramMemory, request: str, k: int = EXAMPLES) -> Rebound | Unbound:
    """The nearest plan of a memory that can be made to fit a request.

    A routine that the request names is the only one that is tried.

    Args:
        memory: of programs.
        request: a dialogue or an instruction.
        k: how many plans are tried, the nearest first.

    Returns:
        The reason of the nearest one if none fits.

    Raises:
        FileError: if the memory's file cannot be read.
    """
    near = memory.nearest(request, RecordKind.PLAN, max(k, _NAMED_AMONG) if k else 0)
    return first_rebound([record for _, record in near], request, k)


def first_rebound(found: Sequence[ProgramRecord], request: str, k: int) -> Rebound | Unbound:
    """As `nearest_rebound`, of plans that were found, the nearest first; `k` of them are tried."""
    named = [record for record in found if names_routine(record, request)]
    results = [rebind(record, request) for record in named[:1] or found[:k]]
    fitting = [result for result in results if isinstance(result, Rebound)]
    if fitting:
        return fitting[0]
    return results[0] if results else Unbound("the program memory has no plan")


def rebind(record: ProgramRecord, request: str) -> Rebound | Unbound:
    """A plan's program with its things, counts and places as a request wants them."""
    asked, key = Reader(request), Reader(record.key)
    unknown = [word for word in asked.unknown if stem_of(word) not in key.words]
    if unknown:
        return Unbound(f"no program knows a {unknown[0]!r}")
    missing = sorted(name for name in names_in(request) if stem_of(name) not in key.words)
    if missing:
        return Unbound(f"what was taught is not about {missing[0]!r}")
    try:
        change = ProgramChange(ProgramItems(record.parsed()))
        if names_routine(record, request):
            change.change(asked.mentions)
        else:
            change.fit(asked, request)
        text = program_text(Program(change.items.statements()))
        return Rebound(parse_program(text), tuple(change.changes), record)
    except (MisfitError, ProgramError) as error:
        return Unbound(str(error))


def names_routine(record: ProgramRecord, request: str) -> bool:
    """Whether a request and what a record was taught with share a name."""
    names = {stem_of(name) for name in names_in(record.key) | names_in(request)}
    return bool(names & _stems(record.key) & _stems(request))


def _stems(text: str) -> frozenset[str]:
    said = said_by_the_person(text).lower()
    return frozenset(stem_of(word) for word in re.findall(r"[a-z]+", said))


def names_in(text: str) -> frozenset[str]:
    """Names of routines and people, in lower case: no words of English or of the catalogue."""
    said = said_by_the_person(text)
    found = {word.lower() for word in _NAME.findall(said)}
    found |= set(_BEFORE_ROUTINE.findall(said.lower()))
    return frozenset(found - FUNCTION_WORDS - _ROUTINES - _VERBS - default_lexicon().words)
