"""What the memory node is told: of its model, its files and the run that it belongs to."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from planner.memory.memory import UPDATE_PERIOD_S, Memory
from planner.memory.store import SUFFIX, Store, StoreError, named_file, set_aside
from planner.memory.updater import BackgroundUpdater, MemoryUpdater
from planner.world.house import House
from planner.world.vocabulary import AgentKind

# The memory of a run: how it begins, and what it says of itself in use.

# The world's clock this far behind what was stored: it was started anew.
BACKWARDS_S = 0.5
_log = logging.getLogger(__name__)


def store_path(folder: Path, episode: str) -> Path:
    """The file of an episode's run in the folder of stores.

    Raises:
        StoreError: where no file can be named after the episode.
    """
    path = named_file(f"{episode}{SUFFIX}", folder)
    if path.parent != folder:
        raise StoreError(f"{episode[:80]!r}: no file can be named after it")
    return path


def open_memory(
    layout: House,
    updater: MemoryUpdater | None,
    *,
    folder: Path | None,
    episode: str,
    agents: Mapping[str, AgentKind],
    clock_s: float,
    period_s: float = UPDATE_PERIOD_S,
    foreign_names: bool = False,
) -> Memory:
    """The memory of a run, which goes on where its store ended.

    A world whose clock is behind the store has restarted: then the old file is set aside under
    a number and a fresh list begins.

    Args:
        layout: rooms and furniture.
        updater: makes edits of observations; None for none.
        folder: of the stores; None keeps the memory in this process only.
        episode: names the store's file.
        agents: the agents' kinds.
        clock_s: the world's time now.
        period_s: least time between two looks through one camera.
        foreign_names: as `Memory` has it.

    Raises:
        StoreError: where the store cannot be used.
    """

    def begin(store: Store | None) -> Memory:
        return Memory(
            layout,
            updater,
            store,
            agents=agents,
            episode=episode,
            period_s=period_s,
            foreign_names=foreign_names,
        )

    if folder is None:
        return begin(None)
    path = store_path(folder, episode)
    store = Store(path)
    try:
        content = store.read()
        if content is not None and content.stamp_s > clock_s + BACKWARDS_S:
            store.close()
            _log.info("the memory of an earlier run is kept as %s", set_aside(path))
            store = Store(path)
        return begin(store)
    except BaseException:
        store.close()
        raise


# What a memory in use says of itself.


class Condition(NamedTuple):
    """The condition of one part of the memory node.

    Attributes:
        name: of the part.
        problem: "" where there is none.
        is_error: whether the problem loses data.
        values: details by name.
    """

    name: str
    problem: str
    is_error: bool
    values: Mapping[str, str]


def conditions(
    memory: Memory | None,
    worker: BackgroundUpdater | None,
    settings: Mapping[str, str],
    notes: Mapping[str, str],
    problem: str,
) -> list[Condition]:
    """How the store is, and what is remembered.

    Args:
        memory: None while the world is not known.
        worker: who makes edits of pictures in a thread of its own, if somebody does.
        settings: told first, by name.
        notes: told last, by name: what was lost or could not be read.
        problem: why there is no memory, or why it sees nothing, where that is known.
    """
    values = dict(settings)
    if worker is not None:
        values.update({name: str(count) for name, count in worker.counts.items()})
    fault, doubts = "", [problem or "the world is not known yet"]
    if memory is not None:
        fault, doubts = memory.fault, [*memory.disagreements(), *filter(None, [problem])]
        values["sequence"] = str(memory.sequence)
        values["operations refused"] = str(memory.refused)
        values["last refused"] = memory.refusal
        values["entities"] = str(len(memory.entities))
    if worker is not None and worker.failure:
        doubts = [*doubts, f"the update from the last image failed: {worker.failure}"]
    return [
        Condition("memory: store", fault and f"not stored: {fault}", True, {}),
        Condition("memory: entities", "; ".join(doubts), False, {**values, **notes}),
    ]
