"""People read our sentences; what the SDK says is in the log."""

from __future__ import annotations

import importlib
import logging
import pkgutil

import pytest

pytest.importorskip("bosdyn.client", reason="needs the Spot SDK: make spot")

import bosdyn.client
from bosdyn.client.lease import ResourceAlreadyClaimedError

from sim_bridge.spot.connection import SDK_ERRORS, explain

RAW = "bosdyn.api.RobotCommandResponse (INTERNAL): raw words"


def kinds() -> list[type[Exception]]:
    """The errors of all modules of the SDK's client."""
    found: set[type[Exception]] = set()
    for module in pkgutil.iter_modules(bosdyn.client.__path__):
        try:
            names = vars(importlib.import_module(f"bosdyn.client.{module.name}")).values()
        except ImportError:
            continue
        found.update(n for n in names if isinstance(n, type) and issubclass(n, SDK_ERRORS))
    return sorted(found - {ResourceAlreadyClaimedError}, key=lambda kind: kind.__name__)


class Raw:
    """Puts the SDK's words into an error, whatever its constructor wants."""

    response = original_error = None

    def __init__(self) -> None: ...

    def __str__(self) -> str:
        return f"{RAW} from {type(self).mro()[2].__module__}"


def test_no_error_of_the_sdk_is_shown_in_its_own_words(caplog: pytest.LogCaptureFixture) -> None:
    all_kinds = kinds()
    assert len(all_kinds) > 100
    for kind in all_kinds:
        error: BaseException = type(kind.__name__, (Raw, kind), {})()
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            told = explain(error)
        assert "raw" not in told
        assert kind.__name__ not in told
        assert ";" in told or "set" in told, f"{kind.__name__} does not say what to do: {told}"
        assert f"{kind.__name__}: {RAW} from {kind.__module__}" in caplog.text
        # Calls fail again and again.
        with caplog.at_level(logging.WARNING):
            caplog.clear()
            explain(error)
        assert caplog.text == ""
