"""What agents observe, as text for language models (LLAMAR-A2)."""

from __future__ import annotations

from collections.abc import Iterator

from sim_bridge.rescue.fire import Intensity
from sim_bridge.rescue.grid import Direction, is_inside
from sim_bridge.rescue.world import Agent, RescueWorld


def visible_names(world: RescueWorld, agent: Agent) -> list[str]:
    """What an agent can name: burning fires and regions, what stands there, persons, agents."""
    groups = (world.fires, world.regions, world.reservoirs, world.deposits, world.persons)
    names = (name for group in (*groups, world.agents) for name in group)
    return [name for name in names if world.is_visible(agent, name)]


def observation_text(world: RescueWorld, agent: Agent) -> str:
    """The cells around an agent, what it sees elsewhere, and the names of all that."""
    near = ", ".join(f"{direction}: {_cell(world, agent, direction)}" for direction in Direction)
    names = visible_names(world, agent)
    elsewhere = "; ".join(_description(world, agent, name) for name in names)
    return (
        f"Around: {near}\nIn sight: {elsewhere or 'nothing'}\nNames: {', '.join(names) or 'none'}"
    )


def state_text(agent: Agent) -> str:
    """An agent's cell and its inventory."""
    held: dict[str, int] = {str(supply): count for supply, count in agent.supplies.items()}
    held["Person"] = int(bool(agent.carried))
    inventory = ", ".join(f"{name}: {count}" for name, count in held.items())
    person = f", holding {agent.carried}" if agent.carried else ""
    return f"at {agent.cell}, inventory {{{inventory}}}{person}"


def _cell(world: RescueWorld, agent: Agent, direction: Direction) -> str:
    dx, dy = direction.offset
    cell = (agent.cell[0] + dx, agent.cell[1] + dy)
    if not is_inside(cell) or not world.is_free(cell, agent):
        return "Obstacle"
    for fire in world.fires.values():
        level = fire.intensity(cell)
        if level is not Intensity.NONE:
            return f"{fire.name} burning, {level.word}"
    return "Empty"


def _description(world: RescueWorld, agent: Agent, name: str) -> str:
    reach = ", in reach" if world.is_near(agent, name) else ""
    return f"{name} ({', '.join(_facts(world, name))}{reach})"


def _facts(world: RescueWorld, name: str) -> Iterator[str]:
    cell = world.cell_of(name)
    if name in world.fires:
        fire = world.fires[name]
        yield f"{fire.kind} fire, put out with {fire.kind.supply}, {fire.average.word} on average"
    elif name in world.regions:
        fire, middle = world.regions[name]
        yield f"region of {fire.name}, {fire.around(middle).word}"
    elif name in world.reservoirs:
        yield f"reservoir of {world.reservoirs[name].supply}"
    elif name in world.deposits:
        stock = world.deposits[name].stock
        kept = ", ".join(f"{count} {supply}" for supply, count in stock.items())
        yield f"deposit with {kept}"
    elif name in world.persons:
        person = world.persons[name]
        yield f"lost person, held by {len(person.holders)} of at least {person.needed}"
    else:
        yield "agent"
    if cell is not None:
        yield f"at {cell}"
