"""Remembered programs, changed to requests without a model (HELPER-D30, HELPER-D31)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cases import cases

from papers.helper.program_change import Rebound, Unbound, nearest_rebound, rebind
from papers.helper.program_items import ProgramItems
from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind
from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import Instance, Invocation, Method, Program
from papers.helper.request_words import COFFEE, Reader, Role

_STATES = {Method.CLEAN: "clean", Method.COOK: "cooked", Method.TOAST: "toasted"}
_CUT = """\
knife = InteractionObject("Knife")
knife.go_to()
knife.pickup()
{cuts}knife.put_down()
"""


def cut(*classes: str) -> str:
    cuts = [
        f'whole_{n} = InteractionObject("{name}")\nwhole_{n}.go_to()\nwhole_{n}.slice()\n'
        for n, name in enumerate(classes)
    ]
    return _CUT.format(cuts="".join(cuts))


def washed(variable: str, class_name: str) -> str:
    calls = "".join(f"{variable}.{call}()\n" for call in ("go_to", "pickup", "clean", "put_down"))
    return f'{variable} = InteractionObject("{class_name}", attributes=["clean"])\n{calls}'


def moved(variable: str, class_name: str, to: str, *treated: str) -> str:
    calls = "".join(f"{variable}.{call}()\n" for call in ("go_to", "pickup", *treated))
    return (
        f'{variable} = InteractionObject("{class_name}")\n{calls}{to}.go_to()\n'
        f"{variable}.place({to})\n"
    )


COFFEE_MUG = (
    'machine = InteractionObject("CoffeeMachine")\nmug = InteractionObject("Mug")\nmug.go_to()\n'
    "mug.pickup()\nmachine.go_to()\nmug.place(machine)\nmachine.toggle_on()\nmachine.toggle_off()\n"
)
PLATE = washed("plate", "Plate")
SANDWICH = (
    cut("Bread", "Tomato", "Lettuce")
    + PLATE
    + moved("toast_1", "BreadSliced", "plate", "toast")
    + moved("toast_2", "BreadSliced", "plate", "toast")
    + "".join(moved(f"tomato_{n}", "TomatoSliced", "plate") for n in range(3))
    + "".join(moved(f"leaf_{n}", "LettuceSliced", "plate") for n in range(3))
)
SALAD = (
    cut("Potato", "Lettuce", "Tomato")
    + PLATE
    + moved("potato_1", "PotatoSliced", "plate", "cook")
    + moved("potato_2", "PotatoSliced", "plate", "cook")
    + moved("leaf", "LettuceSliced", "plate")
    + moved("slice", "TomatoSliced", "plate")
)
BREAKFAST = (
    COFFEE_MUG
    + cut("Bread")
    + PLATE
    + "".join(moved(f"toast_{n}", "BreadSliced", "plate", "toast") for n in range(2))
)
PILLOWS = 'sofa = InteractionObject("Sofa")\n' + "".join(
    f'pillow_{n} = InteractionObject("Pillow")\npillow_{n}.pickup_and_place(sofa)\n'
    for n in range(3)
)
CLEANING = "".join(
    washed(f"{word}_{n}", word.capitalize()) for word in ("plate", "cup") for n in "12"
)

Thing = tuple[str, frozenset[str], str]


def outcome(program: Program) -> Counter[Thing]:
    """What a program carries: class, states, and the class of where it is in the end.

    A coffee machine holds one mug, a hand one thing, and only what is in the hand is handled.
    """
    classes: dict[str, str] = {}
    states: dict[str, set[str]] = {}
    where: dict[str, str] = {}
    held = ""
    for one in program.statements:
        if isinstance(one, Instance):
            classes[one.variable], states[one.variable] = one.class_name, set()
            where.pop(one.variable, None)
            continue
        assert isinstance(one, Invocation)
        thing = one.variable
        match one.method:
            case Method.PICKUP | Method.PICKUP_AND_PLACE:
                assert not held, f"{thing} while {held} is held"
                held = thing
            case Method.CLEAN | Method.COOK | Method.TOAST:
                assert held == thing
                states[thing].add(_STATES[one.method])
            case Method.FILL_UP:
                assert held == thing
                states[thing].add("water")
            case Method.TOGGLE_ON if classes[thing] == "CoffeeMachine":
                for mug in (m for m, place in where.items() if place == thing):
                    states[mug].add(COFFEE)
            case Method.SLICE:
                assert classes[held] == "Knife"
        if one.method in (Method.PLACE, Method.PICKUP_AND_PLACE, Method.PUT_DOWN):
            assert held == thing
            where[thing], held = one.argument, ""
            inside = [m for m, p in where.items() if p and classes[p] == "CoffeeMachine"]
            assert len(inside) <= 1
    assert not held
    found = (
        (classes[v], frozenset(states[v]), classes.get(place, "")) for v, place in where.items()
    )
    return Counter(thing for thing in found if thing[0] != "Knife")


def things(*wanted: tuple[int, str, str, str]) -> Counter[Thing]:
    """Number, class, states separated by blanks, place."""
    return Counter({(name, frozenset(how.split()), at): n for n, name, how, at in wanted})


def taught(name: str, text: str, program: str) -> ProgramRecord:
    said = f"<Driver> What shall I do? <Commander> Today is the {name}. {text}"
    return ProgramRecord(0, RecordKind.PLAN, said, program, name, confirmed=True)


ROUTINES = (
    taught(
        "Ola sandwich", "Two slices of toast, 3 of tomato, 3 of lettuce, clean plate.", SANDWICH
    ),
    taught("Ivo salad", "Cook two slices of potato, add lettuce and tomato, clean plate.", SALAD),
    taught("Ada breakfast", "A mug of coffee and two slices of toast on a clean plate.", BREAKFAST),
    taught("Ulf tidying", "Three pillows belong on the sofa.", PILLOWS),
    taught("Eva cleaning", "Two plates and two cups have to be clean.", CLEANING),
)
ON_PLATE = (1, "Plate", "clean", "")


def asked(request: str, record: ProgramRecord) -> Program:
    found = rebind(record, request)
    assert isinstance(found, Rebound), found.reason
    return found.program


@pytest.mark.parametrize(
    ("place", "request_", "wanted"),
    [
        (
            0,
            "The Ola sandwich, please, but four slices of lettuce.",
            things(
                (2, "BreadSliced", "toasted", "Plate"),
                (3, "TomatoSliced", "", "Plate"),
                (4, "LettuceSliced", "", "Plate"),
                ON_PLATE,
            ),
        ),
        (
            0,
            "The Ola sandwich: 4 lettuce slices, two of tomato, all directly on the countertop.",
            things(
                (2, "BreadSliced", "toasted", "CounterTop"),
                (2, "TomatoSliced", "", "CounterTop"),
                (4, "LettuceSliced", "", "CounterTop"),
            ),
        ),
        (
            0,
            "The Ola sandwich with apple instead of tomato.",
            things(
                (2, "BreadSliced", "toasted", "Plate"),
                (3, "AppleSliced", "", "Plate"),
                (3, "LettuceSliced", "", "Plate"),
                ON_PLATE,
            ),
        ),
        (
            1,
            "Ivo salad without lettuce or potato, plus one slice of tomato",
            things((2, "TomatoSliced", "", "Plate"), ON_PLATE),
        ),
        (
            1,
            "I want the Ivo salad with two more slices of tomato, and bring a fork.",
            things(
                (2, "PotatoSliced", "cooked", "Plate"),
                (1, "LettuceSliced", "", "Plate"),
                (3, "TomatoSliced", "", "Plate"),
                (1, "Fork", "", "Plate"),
                ON_PLATE,
            ),
        ),
        (
            1,
            "The Ivo salad in a bowl instead of a plate, no lettuce, and three slices of potato.",
            things(
                (3, "PotatoSliced", "cooked", "Bowl"),
                (1, "TomatoSliced", "", "Bowl"),
                (1, "Bowl", "clean", ""),
            ),
        ),
        (
            2,
            "Ada's breakfast, skip the coffee, but add a cup of water",
            things((2, "BreadSliced", "toasted", "Plate"), (1, "Cup", "water", "Plate"), ON_PLATE),
        ),
        (
            2,
            "The Ada breakfast with two mugs of coffee and just one slice of toast.",
            things(
                (1, "Mug", "coffee", "CounterTop"),
                (1, "Mug", "coffee", "CoffeeMachine"),
                (1, "BreadSliced", "toasted", "Plate"),
                ON_PLATE,
            ),
        ),
        (
            3,
            "Ulf tidying: two pillows and a remote, all on the arm chair instead of the sofa",
            things((2, "Pillow", "", "ArmChair"), (1, "RemoteControl", "", "ArmChair")),
        ),
        (
            3,
            "Ulf tidying. The remote goes with them, and all of it to a chair instead of the sofa.",
            things((3, "Pillow", "", "Chair"), (1, "RemoteControl", "", "Chair")),
        ),
        (
            3,
            "The Ulf tidying, please, and also put a basketball on the bed.",
            things((3, "Pillow", "", "Sofa"), (1, "Basketball", "", "Bed")),
        ),
        (
            4,
            "Start the Eva cleaning with three plates and a fork, but no cups.",
            things((3, "Plate", "clean", ""), (1, "Fork", "clean", "")),
        ),
        (4, "The Eva cleaning, only the cups.", things((2, "Cup", "clean", ""))),
        (4, "Eva cleaning, but don't do the plates.", things((2, "Cup", "clean", ""))),
        (
            4,
            "Do me a favour: the Eva cleaning, a single cup, and swap the plates for bowls.",
            things((2, "Bowl", "clean", ""), (1, "Cup", "clean", "")),
        ),
        (
            1,
            "Raise the lettuce of the Ivo salad to two slices and don't forget a fork.",
            things(
                (2, "PotatoSliced", "cooked", "Plate"),
                (2, "LettuceSliced", "", "Plate"),
                (1, "TomatoSliced", "", "Plate"),
                (1, "Fork", "", "Plate"),
                ON_PLATE,
            ),
        ),
        (
            2,
            "The Ada breakfast with two mugs of coffee, and put a fork on the plate.",
            things(
                (1, "Mug", "coffee", "CounterTop"),
                (1, "Mug", "coffee", "CoffeeMachine"),
                (2, "BreadSliced", "toasted", "Plate"),
                (1, "Fork", "", "Plate"),
                ON_PLATE,
            ),
        ),
        (
            2,
            "The Ada breakfast: replace the coffee with a cup of water.",
            things((2, "BreadSliced", "toasted", "Plate"), (1, "Cup", "water", "Plate"), ON_PLATE),
        ),
    ],
)
def test_a_routine_with_changes(place: int, request_: str, wanted: Counter[Thing]) -> None:
    assert outcome(asked(request_, ROUTINES[place])) == wanted


@pytest.mark.parametrize("record", ROUTINES)
def test_a_routine_without_changes_stays(record: ProgramRecord) -> None:
    found = rebind(record, f"Please do the {record.person}.")
    assert isinstance(found, Rebound)
    assert found.changes == ()
    assert outcome(found.program) == outcome(record.parsed())


def test_the_routine_is_found_among_all_others() -> None:
    with ProgramMemory.open(None) as memory:
        kept = [memory.add(record) for record in ROUTINES]
        for record in kept:
            found = nearest_rebound(memory, f"The {record.person} with a fork, please.")
            assert isinstance(found, Rebound)
            assert found.record == record
        # The named routine alone is tried: no other sandwich is made in its place.
        found = nearest_rebound(memory, "The Ola sandwich without the plate.")
        assert found == Unbound("it is not said where things go directly without the Plate")


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ("The Ola sandwich with a unicorn.", "no program knows a 'unicorn'"),
        ("Make the Zoe sandwich.", "what was taught is not about 'zoe'"),
        ("The Ola sandwich with nine slices of lettuce.", "more than one Lettuce gives"),
        ("The Ola sandwich with 900 forks.", "900 of Fork are more than 20"),
        ("The Ola sandwich with apple instead of cheese.", "the program has no"),
        ("The Ola sandwich with egg instead of tomato.", "Egg has no slices"),
        ("Wash two pillows.", "the program has no clean"),
        ("Open the window.", "the program has no open"),
        ("Tell me a story.", "no program knows a 'story'"),
        ("import os", "names nothing that the program is about"),
    ],
)
def test_what_does_not_fit_is_refused(request_: str, says: str) -> None:
    found = rebind(ROUTINES[0], request_)
    assert isinstance(found, Unbound)
    assert says in found.reason


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("Put three books on the desk.", things((3, "Book", "", "Desk"))),
        ("Clean a bowl and a mug.", things((1, "Bowl", "clean", ""), (1, "Mug", "clean", ""))),
        ("Three slices of apple in a bowl.", things((3, "AppleSliced", "", "Bowl"))),
        ("Make me a coffee.", things((1, "Mug", "coffee", "CounterTop"))),
        ("Water the plant.", things((1, "Cup", "water", ""))),
    ],
)
def test_a_description_is_fitted_to_a_shipped_example(
    request_: str, wanted: Counter[Thing]
) -> None:
    with ProgramMemory.open(None) as memory:
        found = nearest_rebound(memory, request_)
    assert isinstance(found, Rebound), found.reason
    assert outcome(found.program) == wanted


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ("Put the apple in the fridge.", "the program has slice"),
        ("Put the tomato on the plate.", "the program has slice"),
        ("Put the potato in the sink.", "the program has fill_up"),
        ("Put the mug on the desk.", "the program has toggle_on"),
    ],
)
def test_what_a_request_does_not_ask_for_is_not_done(request_: str, says: str) -> None:
    """The words of a shipped example are near, but it slices, boils or makes coffee."""
    with ProgramMemory.open(None) as memory:
        found = nearest_rebound(memory, request_)
    assert isinstance(found, Unbound)
    assert says in found.reason


def test_a_lamp_alone_is_switched() -> None:
    with ProgramMemory.open(None) as memory:
        found = nearest_rebound(memory, "Switch on the floor lamp.")
        assert isinstance(found, Rebound), found.reason
        assert {one.class_name for one in instances(found.program)} == {"FloorLamp"}
        assert isinstance(nearest_rebound(memory, "Switch off the floor lamp."), Unbound)


def instances(program: Program) -> list[Instance]:
    return [one for one in program.statements if isinstance(one, Instance)]


def test_a_name_counts_wherever_it_was_first_said() -> None:
    said = "<Commander> A Mio cleaning is for two plates and two cups."
    record = ProgramRecord(0, RecordKind.PLAN, said, CLEANING, confirmed=True)
    for request_ in ("I am here. Do the Mio cleaning.", "mio cleaning"):
        found = rebind(record, request_)
        assert isinstance(found, Rebound), found.reason
        assert found.changes == ()


def test_an_empty_memory_has_nothing_to_give() -> None:
    with ProgramMemory.open(None) as memory:
        assert nearest_rebound(memory, "Anything.", 0) == Unbound("the program memory has no plan")


def test_what_serves_nothing_any_more_goes_too() -> None:
    """The knife, the coffee machine, a fridge that was opened."""
    program = asked("The Ada breakfast without coffee and without toast.", ROUTINES[2])
    assert {one.class_name for one in instances(program)} == {"Plate"}
    items = ProgramItems(
        parse_program(
            'fridge = InteractionObject("Fridge")\nfridge.go_to()\nfridge.open()\n'
            'egg = InteractionObject("Egg")\negg.pickup_and_place(fridge)\nfridge.close()\n'
            'pen = InteractionObject("Pen")\npen.go_to()\npen.pickup()\npen.put_down()\n'
        )
    )
    items.leave_out(["egg"])
    assert {one.variable for one in items.statements()} == {"pen"}


def test_a_variable_that_is_bound_twice_is_two_things() -> None:
    items = ProgramItems(
        parse_program(
            'desk = InteractionObject("Desk")\npen = InteractionObject("Pen")\n'
            'pen.pickup_and_place(desk)\npen = InteractionObject("Pen")\n'
            "pen.pickup_and_place(desk)\n"
        )
    )
    assert items.items() == ["pen", "pen_2"]
    items.repeat("pen", 2)
    assert outcome(Program(items.statements())) == things((4, "Pen", "", "Desk"))


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("no cups", [("Cup", Role.ABSENT, 0, False)]),
        (
            "two cups, but not the mug",
            [("Cup", Role.THING, 2, False), ("Mug", Role.ABSENT, 0, False)],
        ),
        ("add a fork", [("Fork", Role.THING, 1, True)]),
        ("two mugs of coffee", [(COFFEE, Role.THING, 2, False)]),
        ("another pen on the desk", [("Pen", Role.THING, 1, True), ("Desk", Role.PLACE, 0, False)]),
        (
            "a mug instead of the cup",
            [("Mug", Role.THING, 1, False), ("Cup", Role.REPLACED, 0, False)],
        ),
        ("<Driver> A pan? <Commander> No, the pot.", [("Pot", Role.THING, 0, False)]),
        ("Can you toast the bread?", [("Bread", Role.THING, 0, False)]),
    ],
)
def test_what_a_request_says_of_things(
    said: str, found: Sequence[tuple[str, Role, int, bool]]
) -> None:
    assert [(m.name, m.role, m.count, m.adds) for m in Reader(said).mentions] == list(found)


_WORDS = st.sampled_from(
    """no,two,add,a,slice,of,tomato,lettuce,plate,fork,without,the,on,counter,instead,.,plus,only,
    everything,mug,coffee,and,but,3,remove,egg,all,sofa""".replace("\n    ", "").split(",")
)


@settings(max_examples=cases(150), deadline=None)
@given(st.lists(_WORDS, max_size=12), st.sampled_from(ROUTINES))
def test_any_words_give_a_program_or_a_reason(said: Iterable[str], record: ProgramRecord) -> None:
    found = rebind(record, f"The {record.person} {' '.join(said)}")
    if isinstance(found, Unbound):
        assert found.reason
    else:
        outcome(found.program)
