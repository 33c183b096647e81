"""A cache of houses written for habitat-sim."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from planner.world.agents import default_bodies
from planner.world.catalogue import Catalogue
from planner.world.errors import FileError
from planner.world.files import FileModel
from planner.world.house import House, house_json
from sim_bridge.habitat.dataset.records import HabitatDataset
from sim_bridge.habitat.dataset.writer import export_habitat, read_dataset


def write_house_dataset(house: House, cache: str, catalogue: Catalogue) -> HabitatDataset:
    """A house's dataset in the cache, written if it is not there.

    Identified by everything it was made from; an incomplete one is written again. Things are left
    out, as episodes bring their own.

    Raises:
        FileError: if it cannot be written.
    """
    layout = house.layout
    key = hashlib.sha256()
    key.update(house_json(layout).encode())
    key.update(_looks(catalogue).encode())
    folder = _cache(cache)
    directory = folder / f"{house.name}-{key.hexdigest()[:16]}"
    try:
        return read_dataset(directory, layout)
    except FileError:
        pass
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error.strerror}") from None
    try:
        export_habitat(layout, draft, catalogue)
        shutil.rmtree(directory, ignore_errors=True)
        try:
            draft.rename(directory)
        except OSError:
            # Another bridge has just written the same.
            shutil.rmtree(draft, ignore_errors=True)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return read_dataset(directory, layout)


def _cache(named: str) -> Path:
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(home) / "planner" / "habitat"


@lru_cache(maxsize=4)
def _looks(catalogue: Catalogue) -> str:
    """A digest of everything else that the files depend on: appearance and code."""
    models: Iterable[FileModel] = (
        *catalogue.rooms.values(),
        *catalogue.objects.values(),
        *default_bodies().values(),
    )
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for writer in (here / "footprints.py", *sorted((here / "dataset").glob("*.py"))):
        digest.update(writer.read_bytes())
    for model in models:
        digest.update(model.model_dump_json().encode())
    return digest.hexdigest()
