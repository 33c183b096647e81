"""The shipped houses and how each was generated (config/houses/recipes.yaml)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.houses.generator import generate_house
from planner.world.files import FileModel, read_model
from planner.world.house import House
from planner.world.share import config_dir


class Recipe(FileModel):
    """The arguments with which a shipped house was generated."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    split: Literal["train", "heldout", "none"]
    seed: Annotated[int, Field(ge=0)]
    rooms: Annotated[int, Field(ge=4, le=12)]
    objects: Annotated[int, Field(ge=0)] | None = None

    @property
    def path(self) -> Path:
        """The file of the shipped house."""
        folder = "bench" if self.split == "none" else self.split
        return config_dir() / "houses" / folder / f"{self.name}.json"

    def make(self) -> House:
        """Generates the house again."""
        return generate_house(
            self.name, self.seed, rooms=self.rooms, objects=self.objects, split=self.split
        )


class _RecipeFile(FileModel):
    version: Literal[1]
    houses: tuple[Recipe, ...]

    @model_validator(mode="after")
    def _kept_apart(self) -> _RecipeFile:
        seen: set[int] = set()
        for recipe in self.houses:
            if recipe.seed in seen:
                raise ValueError(f"{recipe.name}: the seed {recipe.seed} is used twice")
            seen.add(recipe.seed)
        return self


def recipes() -> tuple[Recipe, ...]:
    """The shipped houses' recipes; no two have the same seed."""
    return read_model(config_dir() / "houses" / "recipes.yaml", _RecipeFile).houses


def shipped_houses() -> list[Path]:
    """The files of all shipped houses in order of folder and name."""
    return sorted((config_dir() / "houses").glob("*/*.json"))
