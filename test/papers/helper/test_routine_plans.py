"""The scorer of personal routines' plans."""

from __future__ import annotations

import pytest

from papers.helper.programs.parsing import parse_program
from papers.helper.routine_plans import right_plan, score_plan
from papers.helper.teach.tasks import Wanted, read_routines, routine_file

ROUTINES = {routine.name: routine for routine in read_routines(routine_file())}


def served(class_name: str, number: int, made: str = "", place: str = "plate") -> str:
    """Statements that put things of a class there, each after a call of its own."""
    lines: list[str] = []
    for _ in range(number):
        lines.append(f'thing = InteractionObject("{class_name}")')
        lines += [f"thing.{made}()"] if made else []
        lines.append(f"thing.pickup_and_place({place})")
    return "\n".join(lines) + "\n"


PLATE = 'plate = InteractionObject("Plate")\nplate.clean()\nplate.put_down()\n'
MACHINE = 'machine = InteractionObject("CoffeeMachine")\n'
NO_LETTUCE = PLATE + served("PotatoSliced", 2, "cook") + served("TomatoSliced", 1)


def faults(text: str, wanted: tuple[Wanted, ...]) -> tuple[str, ...]:
    return score_plan(parse_program(text), wanted).faults


def test_check_43_a_changed_routine_is_right_only_as_a_whole() -> None:
    """HELPER-C43."""
    wanted = ROUTINES["dax_salad"].wanted(1)
    assert faults(NO_LETTUCE, wanted) == ()
    assert faults(NO_LETTUCE + served("LettuceSliced", 1), wanted) == (
        "not wanted: LettuceSliced at Plate",
    )
    lost = PLATE + served("PotatoSliced", 2, "cook")
    assert faults(lost, wanted) == ("TomatoSliced at Plate: wanted 1, planned 0",)
    raw = PLATE + served("PotatoSliced", 2) + served("TomatoSliced", 1)
    assert "cooked PotatoSliced at Plate: wanted 2, planned 0" in faults(raw, wanted)
    dirty = NO_LETTUCE.replace("plate.clean()\n", "")
    assert faults(dirty, wanted) == ("clean Plate: wanted 1, planned 0",)


def coffee(number: int, *, at_once: bool) -> str:
    lines = MACHINE
    for mug in range(number):
        lines += f'mug{mug} = InteractionObject("Mug")\nmug{mug}.pickup_and_place(machine)\n'
        if not at_once or mug == number - 1:
            lines += "machine.toggle_on()\nmachine.toggle_off()\n"
        if not at_once:
            lines += f"mug{mug}.pickup()\nmug{mug}.put_down()\n"
    return lines


def test_check_43_two_mugs_in_the_coffee_machine_at_once_fail() -> None:
    """HELPER-C43."""
    wanted = (Wanted("Mug", 2, ("coffee",)),)
    assert faults(coffee(2, at_once=False), wanted) == ()
    assert "two mugs are in the coffee machine at once" in faults(coffee(2, at_once=True), wanted)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (coffee(1, at_once=False), ("coffee Mug: wanted 2, planned 1",)),
        (coffee(3, at_once=False), ("not wanted: coffee Mug",)),
        (
            'mug = InteractionObject("Mug")\nmug.fill_up()\n',
            ("coffee Mug: wanted 2, planned 0", "not wanted: water Mug"),
        ),
    ],
)
def test_numbers_and_contents_count(text, expected) -> None:
    assert faults(text, (Wanted("Mug", 2, ("coffee",)),)) == expected


def test_everything_is_on_the_same_plate() -> None:
    wanted = (Wanted("TomatoSliced", 2, (), "Plate"),)
    two = PLATE + served("TomatoSliced", 1) + 'other = InteractionObject("Plate")\n'
    assert faults(two + served("TomatoSliced", 1, place="other"), wanted)[0] == (
        "TomatoSliced at Plate: wanted 2, planned 1"
    )


def test_devices_change_what_is_in_them() -> None:
    stove = (
        'pot = InteractionObject("Pot")\npot.fill_up()\n'
        'burner = InteractionObject("StoveBurner")\npot.place(burner)\n'
        'potato = InteractionObject("Potato")\npotato.pickup_and_place(pot)\n'
        'knob = InteractionObject("StoveKnob")\nknob.toggle_on()\n'
    )
    assert faults(stove, (Wanted("Potato", 1, ("cooked",)),)) == ()
    sink = (
        'cup = InteractionObject("Cup")\nsink = InteractionObject("Sink")\n'
        'cup.pickup_and_place(sink)\nfaucet = InteractionObject("Faucet")\nfaucet.toggle_on()\n'
    )
    assert faults(sink, (Wanted("Cup", 1, ("clean",)),)) == ()


def test_an_end_state_that_an_instance_asks_for_counts() -> None:
    text = 'cup = InteractionObject("Cup", attributes=["clean"])\ncup.go_to()\n'
    assert faults(text, (Wanted("Cup", 1, ("clean",)),)) == ()


@pytest.mark.parametrize("name", ROUTINES)
def test_a_right_plan_is_right_for_its_own_request_only(name) -> None:
    routine = ROUTINES[name]
    asked = [routine.wanted(changes) for changes in range(4)]
    for planned, of in enumerate(asked):
        rightness = [score_plan(right_plan(of), wanted).is_right for wanted in asked]
        assert rightness == [planned == wanted for wanted in range(4)]
