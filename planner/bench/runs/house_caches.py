"""What a run keeps of a house while it is there, and frees when it leaves it.

Floors, paths and files of houses are cached. A run's episodes are sorted by house
(`planner.bench.runs.suites.jobs_of`), so it does not return to a house.
"""

from __future__ import annotations

import ctypes
import gc

from planner.evaluation.layout import forget_layouts
from planner.planning.walking import forget_walk_maps
from planner.skills.ground import forget_grounds
from planner.world.house_checks import forget_files


def keep_house_caches() -> None:
    """Keeps all that there is out of garbage collections until `return_house_caches`.

    Worth it where a house has several episodes: looking through all that is kept for it again and
    again takes a fifth of the time of short ones.
    """
    gc.collect()
    gc.freeze()


def return_house_caches() -> None:
    """Lets garbage collections see everything again."""
    gc.unfreeze()


def clear_house_caches() -> None:
    """Frees everything cached for houses, except what is still in use."""
    forget_layouts()
    forget_grounds()
    forget_walk_maps()
    forget_files()
    gc.collect()
    # The C library keeps freed memory between blocks in use; glibc's malloc_trim returns it.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
