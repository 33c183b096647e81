"""The house and the episodes of a scene, as the shipped files have them (LLAMAR-A20)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from planner.world.checklist import Checklist
from planner.world.episode import AgentPlacement, Episode
from planner.world.geometry import Vec3
from planner.world.graph_house import house_of_document
from planner.world.house import House
from planner.world.vocabulary import AgentKind
from sim_bridge.rescue.grid import SIZE
from sim_bridge.rescue.names import CELL_M, class_of, middle_m, region_class
from sim_bridge.rescue.scenes import FireRecord, Scene
from sim_bridge.rescue.snapshot import PERSON_M
from sim_bridge.rescue.world import fire_of

_FIRE_HEIGHT_M = 0.05
_STORE_M: Vec3 = (0.5, 0.5, 1.0)
_ROOM_HEIGHT_M = 3.0
# LLaMAR's sizes of teams there.
TEAMS = (2, 3, 4, 5)
# Random phases of a fire that are tried for the number of its regions.
_PHASES = 100


def house_document(scene: Scene) -> dict[str, JsonValue]:
    """The scene graph of a scene: an area, and in it fires, reservoirs, deposits and persons."""
    nodes: list[JsonValue] = []
    edges: list[JsonValue] = []
    side_m = SIZE * CELL_M
    area = _node(0, "area", (side_m / 2, side_m / 2, 0.0), (side_m, side_m, _ROOM_HEIGHT_M))
    nodes.append({**area, "category": "Rooms"})
    for number, (name, at_m, size_m, properties) in enumerate(_things(scene), start=1):
        node = _node(number, class_of(name), at_m, size_m)
        nodes.append({**node, "properties": list(properties)})
        edges.append({"from_id": number, "to_id": 0, "relation_type": "INSIDE"})
    return {"nodes": nodes, "edges": edges}


def house_of(scene: Scene) -> House:
    """The house of a scene, with its name."""
    house = house_of_document(house_document(scene), Path(f"{scene.name}.json"))
    return house.model_copy(update={"name": scene.name})


def episode_of(scene: Scene, agents: int) -> Episode:
    """The task of a scene for a team of rescuers, who start in the scene's first places."""
    house = house_of(scene)

    def entity(name: str) -> str:
        return _entity(house, name)

    goals: list[JsonValue] = [
        {"function_name": "is_extinguished", "args": {"objects": [entity(fire.name)]}}
        for fire in scene.fires
    ]
    deposits: list[JsonValue] = [entity(deposit.name) for deposit in scene.deposits]
    goals += [
        {
            "function_name": "is_inside",
            "args": {"objects": [entity(person.name)], "receptacles": deposits},
        }
        for person in scene.persons
    ]
    indices: list[JsonValue] = list(range(len(goals)))
    return Episode(
        version=1,
        episode_id=f"{scene.name}-agents-{agents}",
        house=scene.name,
        instruction=scene.instruction,
        agents=tuple(
            AgentPlacement(uid=f"agent_{index}", kind=AgentKind.RESCUER) for index in range(agents)
        ),
        checklist=_checklist(scene, house),
        evaluation={
            "propositions": goals,
            "dependencies": [],
            "constraints": [
                {"type": "TerminalSatisfactionConstraint", "proposition_indices": indices}
            ],
        },
    )


def _entity(house: House, name: str) -> str:
    return house.names_by_class[class_of(name)][0]


def _checklist(scene: Scene, house: House) -> Checklist:
    """LLaMAR's checklist (LLAMAR-A6, LLAMAR-A23); a fire may be meant by any of its regions."""
    kinds = {fire.kind.supply for fire in scene.fires}
    fires = [(_entity(house, fire.name), *_regions(fire)) for fire in scene.fires]
    persons = [_entity(house, person.name) for person in scene.persons]
    deposits = [_entity(house, deposit.name) for deposit in scene.deposits]
    sources = [_entity(house, each.name) for each in scene.reservoirs if each.supply in kinds]
    items: list[str] = []
    for names in fires:
        meant = "|".join(names)
        items += [f"NavigateTo({meant})", f"UseSupply({meant})", f"EndFire({names[0]})"]
    for person in persons:
        items += [f"{act}({person})" for act in ("NavigateTo", "Spot", "Carry", "DropOff")]
    items += [f"NavigateTo({deposit})" for deposit in deposits]
    items += [f"{act}({source})" for source in sources for act in ("NavigateTo", "GetSupply")]
    single = [(name,) for name in (*persons, *deposits, *sources)]
    return Checklist(ambiguity=1, subtasks=tuple(items), targets=(*fires, *single))


def _regions(record: FireRecord) -> list[str]:
    """The entities of the regions that a fire has with any of the phases that were tried."""
    most = max(len(fire_of(record, random.Random(seed)).regions) for seed in range(_PHASES))
    return [f"{region_class(record.name)}_{index + 1}" for index in range(most)]


def _things(scene: Scene) -> Iterator[tuple[str, Vec3, Vec3, tuple[str, ...]]]:
    """Name, middle of the underside, size and properties of each thing."""
    for fire in scene.fires:
        size_m = (fire.width * CELL_M, fire.height * CELL_M, _FIRE_HEIGHT_M)
        yield fire.name, _middle_of(fire), size_m, ("SURFACES",)
    for reservoir in scene.reservoirs:
        yield reservoir.name, middle_m(reservoir.cell), _STORE_M, ()
    for deposit in scene.deposits:
        yield deposit.name, middle_m(deposit.cell), _STORE_M, ("CONTAINERS",)
    for person in scene.persons:
        yield person.name, middle_m(person.cell), PERSON_M, ("GRABBABLE",)


def _middle_of(fire: FireRecord) -> Vec3:
    x, y, _ = middle_m(fire.corner)
    half = CELL_M / 2
    return (x + (fire.width - 1) * half, y - (fire.height - 1) * half, 0.0)


def _node(number: int, class_name: str, at_m: Vec3, size_m: Vec3) -> dict[str, JsonValue]:
    """A node with its box in Unity's coordinates, where y is up."""
    (x, y, z), (depth, width, height) = at_m, size_m
    center: list[JsonValue] = [x, z + height / 2, y]
    size: list[JsonValue] = [depth, height, width]
    return {
        "id": number,
        "class_name": class_name,
        "bounding_box": {"center": center, "size": size},
    }
