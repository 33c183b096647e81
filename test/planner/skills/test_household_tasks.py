"""TEACh's twelve kinds of tasks: as programs of skill calls, and planned by the expert.

The goals are judged from the simulator's truth, which starts without the slices that they name.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from household_kitchen import kitchen_episode, kitchen_house
from skill_world import World

from planner.app.embedded_run import run_embedded
from planner.app.run_options import RunOptions
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.planning.expert.expert import Expert
from planner.world.house import House
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


@pytest.fixture(scope="module")
def kitchen() -> House:
    return kitchen_house()


@pytest.fixture(scope="module")
def backend() -> Iterator[EmbeddedBackend]:
    made = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    yield made
    made.close()


def _sliced(thing: str) -> list[str]:
    return [
        "Navigate[knife_0]",
        "Pick[knife_0]",
        f"Navigate[{thing}]",
        f"Slice[{thing}]",
        PUT_KNIFE,
    ]


def _moved(thing: str, place: str, relation: str = "on") -> str:
    return f"Rearrange[{thing}, {relation}, {place}, None, None]"


def _toasted(thing: str) -> list[str]:
    device = "toaster_0"
    return [_moved(thing, device), f"PowerOn[{device}]", f"Toast[{thing}]", f"PowerOff[{device}]"]


PUT_KNIFE = "Rearrange[knife_0, on, table_0, None, None]"
CLEAN_PLATE = ["Navigate[plate_0]", "Clean[plate_0]"]
COFFEE = [_moved("cup_0", "coffee_machine_0"), "PowerOn[coffee_machine_0]", "Brew[cup_0]"]
FILLED = ["Navigate[{0}]", "Pick[{0}]", "Navigate[sink_0]", "Fill[{0}]"]
BOILED = [
    *(call.format("pot_0") for call in FILLED),
    _moved("pot_0", "oven_0"),
    "PowerOn[oven_0]",
    _moved("potato_0", "pot_0", "within"),
    "Boil[potato_0]",
]
TOAST = [*_sliced("bread_0"), *_toasted("bread_slice_0")]
SALAD = [
    *_sliced("lettuce_0"),
    *_sliced("tomato_0"),
    *CLEAN_PLATE,
    _moved("tomato_slice_1", "plate_0"),
    _moved("lettuce_slice_0", "plate_0"),
]
TASKS: dict[str, tuple[list[str], list[tuple[str, list[str], list[str], int]]]] = {
    "coffee": (COFFEE, [("is_filled_with_coffee", ["cup_0"], [], 1)]),
    "toast": (TOAST, [("is_toasted", ["bread_slice_0", "bread_slice_1"], [], 1)]),
    "boil potato": (BOILED, [("is_boiled", ["potato_0"], [], 1)]),
    "clean all plates": (
        [*CLEAN_PLATE, "Navigate[plate_1]", "Clean[plate_1]"],
        [("is_clean", ["plate_0", "plate_1"], [], 2)],
    ),
    "salad": (
        SALAD,
        [
            ("is_clean", ["plate_0"], [], 1),
            ("is_on_top", ["lettuce_slice_0"], ["plate_0"], 1),
            ("is_on_top", ["tomato_slice_0", "tomato_slice_1"], ["plate_0"], 1),
        ],
    ),
    "sandwich": (
        [
            *TOAST,
            _moved("bread_slice_0", "plate_0"),
            *_toasted("bread_slice_1"),
            *SALAD,
            _moved("bread_slice_1", "plate_0"),
        ],
        [
            ("is_toasted", ["bread_slice_0", "bread_slice_1"], [], 2),
            ("is_on_top", ["bread_slice_0", "bread_slice_1"], ["plate_0"], 2),
            ("is_on_top", ["lettuce_slice_0"], ["plate_0"], 1),
            ("is_on_top", ["tomato_slice_1"], ["plate_0"], 1),
        ],
    ),
    "plate of toast": (
        [*TOAST, *CLEAN_PLATE, _moved("bread_slice_0", "plate_0")],
        [
            ("is_toasted", ["bread_slice_0"], [], 1),
            ("is_on_top", ["bread_slice_0"], ["plate_0"], 1),
            ("is_clean", ["plate_0"], [], 1),
        ],
    ),
    "breakfast": (
        [*COFFEE, *TOAST, _moved("bread_slice_0", "plate_0")],
        [
            ("is_filled_with_coffee", ["cup_0"], [], 1),
            ("is_on_top", ["bread_slice_0"], ["plate_0", "plate_1"], 1),
        ],
    ),
    "water plant": (
        [
            *(call.format("cup_0") for call in FILLED),
            "Navigate[plant_container_0]",
            "Water[plant_container_0]",
        ],
        [("is_watered", ["plant_container_0"], [], 1)],
    ),
    "put all forks in the basket": (
        [_moved("fork_0", "basket_0", "within"), _moved("fork_1", "basket_0", "within")],
        [("is_inside", ["fork_0", "fork_1"], ["basket_0"], 2)],
    ),
    "put all plates on the counter": (
        [_moved("plate_0", "counter_0"), _moved("plate_1", "counter_0")],
        [("is_on_top", ["plate_0", "plate_1"], ["counter_0"], 2)],
    ),
    # None of TEACh's: furniture has states, too.
    "dust the shelves": (
        ["Navigate[napkin_0]", "Pick[napkin_0]", "Navigate[shelves_0]", "Dust[shelves_0]"],
        [("is_dusted", ["shelves_0"], [], 1)],
    ),
    "2 slices of tomato in the bowl": (
        [
            *_sliced("tomato_0"),
            _moved("tomato_slice_0", "bowl_0", "within"),
            _moved("tomato_slice_3", "bowl_0", "within"),
        ],
        [("is_inside", [f"tomato_slice_{k}" for k in range(4)], ["bowl_0"], 2)],
    ),
}


def _goal(wanted: list[tuple[str, list[str], list[str], int]]) -> dict[str, object]:
    return {
        "propositions": [
            {
                "function_name": name,
                "args": {"objects": first, "number": number}
                | ({"receptacles": second} if second else {}),
            }
            for name, first, second, number in wanted
        ]
    }


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_carried_out_and_judged(kitchen: House, task: str) -> None:
    calls, wanted = TASKS[task]
    world = World(kitchen, kitchen_episode(kitchen))
    judge = Evaluator(read_evaluation(_goal(wanted), task), kitchen, world.state)
    assert judge.progress.percent_complete < 1
    for call in calls:
        result = world.run(call)
        assert result.succeeded, f"{call}: {result.text}"
        judge.update(world.state)
    assert judge.progress.percent_complete == 1


@pytest.mark.parametrize("task", TASKS)
def test_the_expert_plans_it_from_the_goal(
    kitchen: House, backend: EmbeddedBackend, task: str
) -> None:
    wanted = _goal(TASKS[task][1])
    episode = kitchen_episode(kitchen).model_copy(update={"evaluation": wanted})
    result = run_embedded(backend, kitchen, episode, Expert, RunOptions(images=False))
    assert result.verdict.success, result.verdict.explanation
    assert result.reason == "done"
