from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from planner.world.wire import record_of


@dataclass(frozen=True)
class Told:
    name: str
    step: int
    share: float
    holds: bool
    agents: tuple[str, ...]
    angles: tuple[float, ...] = ()
    note: str = ""


MESSAGE = SimpleNamespace(
    name="cup", step="3", share=1, holds=1, agents=["a", "b"], angles=[1], note="kept"
)


def test_a_record_takes_a_messages_fields_in_its_own_types() -> None:
    told = record_of(Told, MESSAGE)

    assert told == Told("cup", 3, 1.0, True, ("a", "b"), (1.0,), "kept")
    assert (type(told.step), type(told.share), type(told.holds)) == (int, float, bool)


def test_what_is_given_is_not_read() -> None:
    assert record_of(Told, MESSAGE, name="given", step=7).name == "given"
    assert record_of(Told, SimpleNamespace(**{**vars(MESSAGE), "step": "x"}), step=7).step == 7


def test_a_field_that_is_missing_or_of_another_type_is_refused() -> None:
    without_note = SimpleNamespace(**{k: v for k, v in vars(MESSAGE).items() if k != "note"})
    with pytest.raises(AttributeError, match="note"):
        record_of(Told, without_note)
    with pytest.raises(ValueError, match="invalid literal"):
        record_of(Told, SimpleNamespace(**{**vars(MESSAGE), "step": "x"}))
