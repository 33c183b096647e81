"""The published check of memory updaters: what it passes, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from planner.app.memory_check import check_memory
from planner.memory.part import UPDATERS, MakeUpdater, UpdaterPart, UpdaterRequest
from planner.memory.updater import Operation
from planner.world.belief import Entity, OperationKind
from planner.world.house_checks import load_house
from planner.world.observation import Observation


class _Broken:
    """Breaks the promises that it is asked to break."""

    name = "other"

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        removed = Operation(OperationKind.REMOVE, entity_id=9999)
        added = Operation(OperationKind.ADD, pixel=(-5.0, 1e6), description="a thing")
        return [removed, added]


def _make(_request: UpdaterRequest) -> MakeUpdater:
    return lambda _layout: _Broken()


def test_what_ships_passes() -> None:
    report = check_memory(UpdaterRequest("privileged"), load_house("train_0"))
    assert report.conforms, report.table()


@pytest.mark.slow
def test_what_breaks_promises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    part = UpdaterPart(summary="breaks promises", make=_make)
    monkeypatch.setattr(UPDATERS, "get", lambda _name: part)
    report = check_memory(UpdaterRequest("broken"), load_house("train_0"))
    assert set(report.failed) == {
        "is_named_as_asked_for",
        "refers_to_entities_of_the_list",
        "says_where_things_are",
        "gives_operations_that_can_be_applied",
        "remembers_things",
    }
