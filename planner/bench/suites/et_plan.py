"""Suite `et_plan`: ET-Plan-Bench's tasks of all categories, in ten houses of their own."""

from pathlib import Path

from planner.bench.suite import SuitePart, packed


def _places() -> list[Path]:
    return packed("et_plan")


SUITE = SuitePart(
    summary="ET-Plan-Bench's tasks of all categories, with plans, in the ten test houses",
    places=_places,
)
