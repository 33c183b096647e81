"""What is let go when a run leaves a house, so that a long run needs no more than a short one.

Floors, ways and files of houses are kept for who comes back to them. The episodes of a run come
house by house (`planner.bench.runs.suites.jobs_of`): it does not come back.
"""

from __future__ import annotations

import ctypes
import gc

from planner.evaluation.scene import forget_layouts
from planner.planning.walking import forget_walk_maps
from planner.skills.ground import forget_grounds
from planner.world.house_checks import forget_files


def clear_house_caches() -> None:
    """Lets go of everything that was prepared for houses; what is in use stays until it is not."""
    forget_layouts()
    forget_grounds()
    forget_walk_maps()
    forget_files()
    gc.collect()
    # The C library keeps what is freed between two things that are not. Not all have this call.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
