"""One property with a few random cases at every change, and with many in the slow tests."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

# Cases of a property that asks for no number of its own, in the profile "whole".
WHOLE = 100


def cases(number: int) -> int:
    """Cases of a property that needs `number`: in the profile "patient" a fifth of them."""
    return max(1, min(number, number * settings().max_examples // WHOLE))


def by_day_each(step: int, values: Iterable[object]) -> list[object]:
    """Parameters of a slow test: each so many-th by day, and the others by night."""
    return [
        pytest.param(value, marks=pytest.mark.nightly) if index % step else value
        for index, value in enumerate(values)
    ]


def random_cases(
    few: int, many: int, *strategies: SearchStrategy[object]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Draws the last arguments of a test from the strategies; those before are its fixtures."""

    def twice(holds: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(holds)
        fixtures = list(signature.parameters.values())[: -len(strategies)]

        def test(cases: int, **more: object) -> None:
            # A starved machine draws slowly, which is not a fault of the property.
            rule = settings(max_examples=cases, suppress_health_check=[HealthCheck.too_slow])
            rule(given(*strategies)(holds))(**more)

        of_cases = inspect.Parameter("cases", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        test.__signature__ = signature.replace(parameters=[of_cases, *fixtures])
        test.__name__, test.__doc__ = holds.__name__, holds.__doc__
        tiers = [few, pytest.param(many, marks=pytest.mark.slow)]
        return pytest.mark.parametrize("cases", tiers)(test)

    return twice
