"""Whatever a program says and whatever fails, the interpreter comes to an end."""

from __future__ import annotations

from random import Random

import pytest
from planning_toys import ToyWorld, capabilities

from papers.helper.programs.interpreter import Interpreter
from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import (
    WITH_ARGUMENT,
    Failed,
    Finished,
    Instance,
    Invocation,
    Method,
    Missing,
    Program,
    Statement,
    program_text,
)
from planner.planning.planner import Context, Task
from planner.world.house import House
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.vocabulary import AgentKind, Relation

AGENT = "agent_0"
CLASSES = ("Mug", "Plate", "Knife", "Tomato", "Sink", "Cabinet", "DiningTable", "Poster", "Toaster",
           "BreadSliced", "Faucet", "DeskLamp", "HousePlant")  # fmt: skip
THINGS = {
    "cup_0": (Relation.ON, "table_0"),
    "plate_0": (Relation.WITHIN, "cabinet_0"),
    "knife_0": (Relation.ON, "table_1"),
    "tomato_0": (Relation.WITHIN, "chest_of_drawers_0"),
    "toaster_0": (Relation.ON, "table_0"),
    "bread_slice_0": (Relation.ON, "table_0"),
    "lamp_0": (Relation.ON, "couch_0"),
    "plant_container_0": (Relation.ON, "table_1"),
}
CODES = (SkillCode.TOO_FAR, SkillCode.NO_PLACEMENT, SkillCode.GRASP_FAILED, SkillCode.NOT_ABLE)


def any_program(chance: Random) -> Program:
    """Six things, and twelve times something done with them."""
    found: list[Statement] = []
    for n in range(6):
        name = chance.choice(CLASSES)
        wanted = chance.choice([(), (), ("clean",), ("cooked",)])
        found.append(Instance(f"x{n}", name, chance.choice(["", *CLASSES]), wanted))
    for _ in range(12):
        method = chance.choice([one for one in Method if one is not Method.TOAST])
        one, other = chance.sample(range(6), 2)
        argument = f"x{other}" if method in WITH_ARGUMENT else ""
        found.append(Invocation(f"x{one}", method, argument))
        if chance.random() < 0.2:
            found.append(Instance(f"x{one}", chance.choice(CLASSES)))
    return parse_program(program_text(Program(tuple(found))))


def only_on_furniture(_agent: str, call: SkillCall) -> SkillResult | None:
    """In the toy world nothing lies on or in a thing."""
    if call.name != "Place" or (call.arguments[2] or "") not in THINGS:
        return None
    return SkillResult.failure(SkillCode.NO_PLACEMENT, "There is no room.")


def play(world: ToyWorld, chance: Random, faults: float) -> tuple[Interpreter, int]:
    """Carries a program out, skipping what fails; the interpreter and the number of turns."""
    checks = chance.random() < 0.8
    interpreter = Interpreter(any_program(chance), agent=AGENT, checks_preconditions=checks)
    repair = parse_program('s = InteractionObject("Sink")\ns.go_to()', corrective=True)
    layout = world.house.layout
    able = capabilities(world.agents[AGENT])
    for turn in range(600):
        context = Context(
            Task("", (AGENT,)), world.belief(), layout, {AGENT: able}, {}, (AGENT,), 0.0
        )
        match interpreter.next(context):
            case SkillCall() as call:
                fails = chance.random() < faults
                failure = SkillResult.failure(chance.choice(CODES), "It failed.")
                interpreter.observe(failure if fails else world.carry_out(AGENT, call))
            case Missing():
                interpreter.not_found(context)
            case Failed():
                interpreter.insert(repair) if chance.random() < 0.3 else interpreter.skip()
            case Finished():
                return interpreter, turn
    return interpreter, 600


@pytest.mark.parametrize("faults", [0.0, 0.3])
@pytest.mark.parametrize("kind", [AgentKind.HUMAN, AgentKind.ROBOT])
def test_any_program_comes_to_an_end(small_house: House, kind: AgentKind, faults: float) -> None:
    for seed in range(12):
        world = ToyWorld(small_house, dict(THINGS), agents={AGENT: kind}, fault=only_on_furniture)
        interpreter, turns = play(world, Random(seed), faults)
        assert turns < 600, (seed, interpreter.queue)
        assert interpreter.executed


@pytest.mark.slow
@pytest.mark.parametrize("kind", [AgentKind.HUMAN, AgentKind.ROBOT])
def test_many_programs_come_to_an_end(small_house: House, kind: AgentKind) -> None:
    for seed in range(100, 500):
        world = ToyWorld(small_house, dict(THINGS), agents={AGENT: kind}, fault=only_on_furniture)
        interpreter, turns = play(world, Random(seed), (seed % 5) / 8)
        assert turns < 600, (seed, interpreter.queue)
