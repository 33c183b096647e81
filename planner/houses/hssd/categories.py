"""The class of each model, from the data set's tables."""

from __future__ import annotations

import csv
import re
from itertools import chain
from pathlib import Path

from planner.houses.hssd.dataset import HssdDataset
from planner.houses.hssd.files import refuse_pointer
from planner.world.catalogue import Catalogue
from planner.world.errors import FileError
from planner.world.files import read_lines

FURNITURE_TABLE = "fpmodels-with-decomposed.csv"
OBJECT_TABLE = "object_categories_filtered.csv"
_MAX_ROWS = 200_000


def furniture_classes(dataset: HssdDataset) -> dict[str, str]:
    """PARTNR's class of each static model, by the model's name, as the data set writes it.

    Raises:
        FileError: if the table is missing or has other columns.
    """
    if not dataset.has_metadata(FURNITURE_TABLE):
        return {}
    return _table(dataset.metadata(FURNITURE_TABLE), "main_category")


def class_by_name(model: str, catalogue: Catalogue) -> str | None:
    """The class of furniture that a model's name has in it: `frl_apartment_table_01` is a table."""
    words = [word for word in re.split(r"[^a-z]+", model.lower()) if word]
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length, -1, -1):
            found = catalogue.furniture_name(" ".join(words[start : start + length]))
            if found is not None:
                return found
    return None


def object_classes(dataset: HssdDataset) -> dict[str, str]:
    """PARTNR's class of each movable model in small letters, by the model's name.

    Raises:
        FileError: if the table is missing or has other columns.
    """
    if not dataset.has_metadata(OBJECT_TABLE):
        return {}
    words = _table(dataset.metadata(OBJECT_TABLE), "clean_category")
    return {model: word.lower() for model, word in words.items()}


def _table(path: Path, column: str) -> dict[str, str]:
    lines = read_lines(path)
    head = next(lines, b"")
    refuse_pointer(path, head)
    found: dict[str, str] = {}
    try:
        rows = csv.DictReader(line.decode("utf-8") for line in chain([head], lines))
        missing = {"id", column} - set(rows.fieldnames or ())
        if missing:
            raise FileError(path, "", f"has no column {sorted(missing)[0]!r}")
        for number, row in enumerate(rows):
            if number >= _MAX_ROWS:
                raise FileError(path, "", f"has more than {_MAX_ROWS} rows")
            name, class_name = row["id"], row[column]
            if name and class_name:
                found[name.strip()] = "_".join(class_name.split())
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    return found
