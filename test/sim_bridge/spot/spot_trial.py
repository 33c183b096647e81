"""What the tests of the Spot backend share: a house, an emulated robot, and its troubles."""

from __future__ import annotations

from planner.world.primitive import Primitive, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import Relation
from sim_bridge.backend import Backend, Handle
from sim_bridge.opening import Opened
from sim_bridge.pacing import TICK_S
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.emulator.faults import Trouble, TroubleKind
from sim_bridge.spot.emulator.server import SpotEmulator

ROBOT = "agent_0"


def emulator_of(backend: SpotBackend) -> SpotEmulator:
    assert backend.emulator is not None
    return backend.emulator


def trouble(backend: SpotBackend, kind: TroubleKind, **more: object) -> None:
    emulator_of(backend).trouble(Trouble.model_validate({"kind": kind, **more}))


def finish(backend: Backend, handle: Handle, most_s: float = 200.0) -> PrimitiveResult:
    for _ in range(round(most_s / TICK_S)):
        result = backend.poll(handle).result
        if result is not None:
            return result
        backend.step(TICK_S)
    raise AssertionError(f"still {backend.poll(handle).phase}")


def far_thing(backend: Backend) -> tuple[str, tuple[float, float, float]]:
    """A thing on furniture that can be walked up to and taken, by its name and middle."""
    state = backend.world_state()
    assert state is not None
    found = [
        e
        for e in state.entities.values()
        if e.relation is Relation.ON and e.parent in state.entities and max(e.size_m) < 0.3
    ]
    for thing in sorted(found, key=lambda e: e.name):
        walk = Primitive(PrimitiveName.NAVIGATE, thing.box.center_m)
        if finish(backend, backend.start(ROBOT, walk)).succeeded:
            return thing.name, thing.box.center_m
    raise AssertionError("nothing to take")


def opened_corner(opened: Opened) -> tuple[float, float, float]:
    piece = max(opened.house.furniture, key=lambda p: abs(p.x_m) + abs(p.y_m))
    return (piece.x_m, piece.y_m, piece.size_m[2] / 2)
