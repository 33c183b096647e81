"""Programs carried out in worlds, from the session to the verdict of the evaluator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from household_kitchen import kitchen_episode, kitchen_house
from program_player import ProgramPlayer
from pydantic import JsonValue

from papers.helper.programs.program import Outcome
from planner.app.embedded_run import prepare_embedded, prepare_graph
from planner.app.run import RunResult
from planner.app.run_options import RunOptions
from planner.planning.planner import Task
from planner.world.episode import AgentPlacement, Episode
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.graph.backend import GraphBackend

COFFEE = """
mug = InteractionObject("Mug", landmark="Sofa")
mug.go_to()
mug.pickup()
mug.clean()
machine = InteractionObject("CoffeeMachine")
mug.place(machine)
machine.toggle_on()
machine.toggle_off()
table = InteractionObject("CoffeeTable", landmark="Sofa")
mug.pickup()
table.go_to()
mug.place(table)
"""
BOILED = """
pot = InteractionObject("Pot")
pot.fill_up()
burner = InteractionObject("StoveBurner")
pot.place(burner)
potato = InteractionObject("Potato")
potato.pickup()
potato.place(pot)
knob = InteractionObject("StoveKnob")
knob.toggle_on()
knob.toggle_off()
"""
TOAST = """
bread = InteractionObject("Bread")
bread.go_to()
bread.slice()
toast = InteractionObject("BreadSliced", attributes=["toasted"])
table = InteractionObject("DiningTable", landmark="CounterTop")
toast.pickup_and_place(table)
"""
TOAST_ON_A_PLATE = """
bread = InteractionObject("Bread")
bread.slice()
toast = InteractionObject("BreadSliced")
toast.toast()
plate = InteractionObject("Plate", attributes=["clean"])
toast.place(plate)
"""
SALAD = """
plate = InteractionObject("Plate")
plate.clean()
tomato = InteractionObject("Tomato")
tomato.slice()
lettuce = InteractionObject("Lettuce")
lettuce.slice()
first = InteractionObject("TomatoSliced")
second = InteractionObject("TomatoSliced")
leaf = InteractionObject("LettuceSliced")
first.pickup_and_place(plate)
second.pickup_and_place(plate)
leaf.pickup_and_place(plate)
"""
PLATES = """
first = InteractionObject("Plate")
first.clean()
second = InteractionObject("Plate")
second.clean()
third = InteractionObject("Plate")
third.clean()
"""
# The same variable for both, and a door that the program opens itself.
CUPS = """
machine = InteractionObject("Dishwasher")
mug = InteractionObject("Mug")
mug.clean()
machine.open()
mug.place(machine)
mug = InteractionObject("Mug")
mug.clean()
mug.place(machine)
"""
PLANT = """
can = InteractionObject("WateringCan")
can.fill_up()
plant = InteractionObject("HousePlant")
can.pour(plant)
bench = InteractionObject("Bench")
plant.pickup_and_place(bench)
"""
COOKED = 'potato = InteractionObject("Potato")\npotato.cook()\n'
TWO_PLATES = """
table = InteractionObject("Desk")
first = InteractionObject("Plate")
first.pickup_and_place(table)
second = InteractionObject("Plate")
second.pickup_and_place(table)
"""
# Step by step, as for a microwave that cooks behind its door.
MICROWAVE = """
microwave = InteractionObject("Microwave")
apple = InteractionObject("Apple")
apple.pickup()
microwave.open()
apple.place(microwave)
microwave.close()
microwave.toggle_on()
microwave.toggle_off()
microwave.open()
apple.pickup()
microwave.close()
"""
FAUCET = """
mug = InteractionObject("Mug")
sink = InteractionObject("SinkBasin")
mug.pickup_and_place(sink)
faucet = InteractionObject("Faucet")
faucet.toggle_on()
faucet.toggle_off()
"""
PEN_AND_EGG = """
target_sofa = InteractionObject("Sofa")
target_pen = InteractionObject("Pen", landmark="Desk")
target_pen.pickup_and_place(target_sofa)
target_egg = InteractionObject("Egg")
target_fridge = InteractionObject("Fridge")
target_egg.pickup_and_place(target_fridge)
target_fridge.close()
print("Done!")
"""
TO_THE_FRIDGE = """
apple = InteractionObject("Apple")
fridge = InteractionObject("Fridge")
apple.pickup_and_place(fridge)
fridge.close()
"""


@pytest.fixture(scope="module")
def backend() -> Iterator[EmbeddedBackend]:
    made = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    yield made
    made.close()


def prop(name: str, *objects: str, number: int = 1, **more: list[str]) -> JsonValue:
    args: dict[str, JsonValue] = {"objects": list(objects), "number": number}
    args |= {word: list(names) for word, names in more.items()}
    return {"function_name": name, "args": args}


class Played:
    """A run of a program with the player that carried it out."""

    def __init__(self) -> None:
        self.players: list[ProgramPlayer] = []
        self.result: RunResult | None = None

    def player(self, text: str, task: Task) -> ProgramPlayer:
        self.players.append(ProgramPlayer(task, text))
        return self.players[0]

    @property
    def calls(self) -> list[str]:
        done = self.players[0].interpreter.executed
        return [str(one.call) for one in done if one.call is not None]


def play(
    backend: EmbeddedBackend,
    name: str,
    text: str,
    goal: list[JsonValue] | None = None,
    kind: AgentKind = AgentKind.HUMAN,
) -> Played:
    """Runs a program in an episode's house; `goal` replaces the episode's."""
    episode, house = load_episode(name)
    agents = tuple(one for one in episode.agents if one.kind is kind)
    return play_in_house(backend, episode.model_copy(update={"agents": agents}), house, text, goal)


def play_in_house(
    backend: EmbeddedBackend,
    episode: Episode,
    house: House,
    text: str,
    goal: list[JsonValue] | None = None,
) -> Played:
    """Runs a program in an episode; `goal` replaces the episode's."""
    if goal is not None:
        wanted = {"propositions": goal, "dependencies": [], "constraints": []}
        episode = episode.model_copy(update={"evaluation": wanted})
    played = Played()
    played.result = prepare_embedded(
        backend,
        house,
        episode,
        lambda task: played.player(text, task),
        RunOptions(images=False, all_known=True),
    ).run()
    return played


def assert_success(played: Played) -> None:
    assert played.result is not None
    assert played.result.verdict.success, (
        played.result.verdict.explanation,
        played.result.outcome.text,
        played.calls,
    )
    failed = [
        one for one in played.players[0].interpreter.executed if one.outcome is Outcome.FAILED
    ]
    assert not failed


def test_coffee_in_a_clean_mug(backend: EmbeddedBackend) -> None:
    played = play(backend, "make_coffee_0", COFFEE)
    assert_success(played)
    assert "Brew[cup_0]" in played.calls


def test_a_slice_becomes_toast_because_it_is_wanted_so(backend: EmbeddedBackend) -> None:
    played = play(backend, "make_toast_0", TOAST)
    assert_success(played)
    assert played.calls.count("Pick[knife_0]") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("boil_potato_0", BOILED),
        ("plate_of_toast_0", TOAST_ON_A_PLATE),
        ("mixed_salad_0", SALAD),
        ("clean_plates_0", PLATES),
        ("wash_cups_0", CUPS),
        ("water_plant_0", PLANT),
    ],
)
def test_a_program_fulfils_its_episode(backend: EmbeddedBackend, name: str, text: str) -> None:
    assert_success(play(backend, name, text))


@pytest.mark.slow
def test_a_cooked_potato(backend: EmbeddedBackend) -> None:
    played = play(backend, "boil_potato_0", COOKED, [prop("is_cooked", "potato_0")])
    assert_success(played)
    assert played.calls[-3:] == ["PowerOff[oven_0]", "Navigate[potato_0]", "Pick[potato_0]"]


@pytest.mark.slow
def test_what_is_shut_in_a_device_that_is_on_is_cooked(backend: EmbeddedBackend) -> None:
    """HELPER-D6: the device is opened for that, and shut again."""
    played = play(backend, "mixed_salad_0", MICROWAVE, [prop("is_cooked", "apple_0")])
    assert_success(played)
    at = played.calls.index("Cook[apple_0]")
    around = ["PowerOn", "Open", "Cook", "Close", "PowerOff"]
    assert [call.partition("[")[0] for call in played.calls[at - 2 : at + 3]] == around


@pytest.mark.slow
def test_two_plates_on_one_desk(backend: EmbeddedBackend) -> None:
    goal = prop(
        "is_on_top",
        "plate_0",
        "plate_1",
        "plate_2",
        number=2,
        receptacles=["desk_0", "desk_1", "desk_2"],
    )
    assert_success(play(backend, "clean_plates_0", TWO_PLATES, [goal]))


@pytest.mark.slow
def test_pens_pillows_and_an_egg_as_in_published_programs(backend: EmbeddedBackend) -> None:
    """The kitchen has what HELPER's examples name, and their last line is no statement."""
    house = kitchen_house()
    episode = kitchen_episode(house)
    goal = [
        prop("is_on_top", "pen_0", "pen_1", receptacles=["couch_0"]),
        prop("is_inside", "egg_0", receptacles=["fridge_0"]),
    ]
    played = play_in_house(backend, episode, house, PEN_AND_EGG, goal)
    assert_success(played)
    assert played.calls[-1] == "Close[fridge_0]"


def test_a_faucet_washes_and_fills_what_is_in_the_basin(backend: EmbeddedBackend) -> None:
    goal = [
        prop("is_clean", "cup_0", "cup_1"),
        prop("is_filled_with_water", "cup_0", "cup_1"),
    ]
    assert_success(play(backend, "wash_cups_0", FAUCET, goal))


@pytest.mark.slow
def test_a_robot_with_one_hand_puts_down_what_it_holds_to_open(backend: EmbeddedBackend) -> None:
    goal = prop("is_inside", "apple_0", receptacles=["fridge_0"])
    played = play(backend, "fruit_0", TO_THE_FRIDGE, [goal], AgentKind.ROBOT)
    assert_success(played)
    assert played.calls.count("Pick[apple_0]") == 2
    assert played.calls[-1] == "Close[fridge_0]"


def play_in_graph(folder: Path, text: str, goal: list[JsonValue], kind: AgentKind) -> Played:
    house = load_house(kitchen.written(folder))
    wanted = {"propositions": goal, "dependencies": [], "constraints": []}
    agent = AgentPlacement(uid="agent_0", kind=kind)
    episode = kitchen.task(house).model_copy(update={"evaluation": wanted, "agents": (agent,)})
    played = Played()
    played.result = prepare_graph(
        GraphBackend(),
        house,
        episode,
        lambda task: played.player(text, task),
        RunOptions(all_known=True),
    ).run()
    return played


def test_a_program_in_a_graph_world(tmp_path: Path) -> None:
    text = TO_THE_FRIDGE.replace("fridge.close()\n", "") + (
        'pear = InteractionObject("Pear", landmark="Fridge")\n'
        'table = InteractionObject("DiningTable")\n'
        "pear.pickup_and_place(table)\n"
        "fridge.close()\n"
    )
    goal = [
        prop("is_inside", "apple_13", receptacles=["fridge_10"]),
        prop("is_on_top", "pear_14", receptacles=["kitchentable_11"]),
    ]
    assert_success(play_in_graph(tmp_path, text, goal, AgentKind.ROBOT))


def test_a_person_switches_a_lamp_on_in_a_graph_world(tmp_path: Path) -> None:
    """There the lamp is furniture, of a class that only the alias of ours names."""
    text = 'lamp = InteractionObject("DeskLamp")\nlamp.toggle_on()\n'
    goal = [prop("is_powered_on", "tablelamp_15")]
    assert_success(play_in_graph(tmp_path, text, goal, AgentKind.HUMAN))
