"""House format `inventory`: what stands in each room, one line a piece of furniture."""

from pathlib import Path

from planner.houses.part import HouseFormat
from planner.world.house import House


def _write(house: House, directory: Path, _scenes: Path | None) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{house.name}.txt"
    lines = sorted(f"{piece.room}: {piece.name}" for piece in house.furniture)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{file}: {len(lines)} pieces of furniture"


FORMAT = HouseFormat(summary="a list of the furniture", write=_write)
