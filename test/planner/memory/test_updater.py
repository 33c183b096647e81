from __future__ import annotations

import threading
from collections.abc import Sequence

from planner.memory.updater import BackgroundUpdater, Operation, Proposal
from planner.world.belief import Entity, OperationKind
from planner.world.observation import Observation


class Slow:
    """Looks only when it is let."""

    name = "slow"

    def __init__(self) -> None:
        self.began, self.may_end = threading.Semaphore(0), threading.Semaphore(0)
        self.looked: list[tuple[float, str, str]] = []
        self.knew: list[int] = []

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        self.looked.append((observation.stamp_s, observation.agent, last_action))
        self.knew.append(len(entities))
        self.began.release()
        assert self.may_end.acquire(timeout=30)
        if last_action == "fail":
            raise ValueError("a model's trouble")
        return [Operation(OperationKind.REMOVE, entity_id=int(observation.stamp_s))]


def test_stale_pictures_are_dropped_and_nobody_waits() -> None:
    slow, ready = Slow(), threading.Semaphore(0)
    worker = BackgroundUpdater(slow, ready.release)
    worker.offer(Observation.at_rest(1), [], "")
    assert slow.began.acquire(timeout=30)
    # Offering returns while the first look is still under way.
    for stamp_s in (2, 3, 4):
        worker.offer(Observation.at_rest(stamp_s), [], "Pick[Object.149]")
    worker.offer(Observation.at_rest(9, agent="agent_1"), [], "")
    assert worker.take() == []
    made = list[Proposal]()
    for _ in range(3):
        slow.may_end.release()
        assert ready.acquire(timeout=30)
        made += worker.take()
        worker.go_on([])
    assert [p.observation.stamp_s for p in made] == [1, 4, 9]
    assert made[1] == Proposal(
        Observation.at_rest(4), (Operation(OperationKind.REMOVE, entity_id=4),)
    )
    assert worker.dropped == 2
    assert slow.looked[1][1:] == ("agent_0", "Pick[Object.149]")
    worker.close()
    worker.close()


def test_a_picture_that_waited_is_looked_at_with_what_came_of_the_one_before() -> None:
    """Else what both show is added twice."""
    slow, ready = Slow(), threading.Semaphore(0)
    worker = BackgroundUpdater(slow, ready.release)
    thing = Entity(149, "cup_149", "cup", False, "cup", (0.0, 0.0, 0.0))
    worker.offer(Observation.at_rest(1), [], "")
    assert slow.began.acquire(timeout=30)
    worker.offer(Observation.at_rest(2, agent="agent_1"), [], "")
    slow.may_end.release()
    assert ready.acquire(timeout=30)
    assert not slow.began.acquire(timeout=0.2)
    assert len(worker.take()) == 1
    worker.go_on([thing])
    assert slow.began.acquire(timeout=30)
    assert slow.knew == [0, 1]
    slow.may_end.release()
    worker.close()


def test_a_model_that_fails_is_counted_and_the_next_picture_is_looked_at() -> None:
    slow, ready = Slow(), threading.Semaphore(0)
    worker = BackgroundUpdater(slow, ready.release)
    made = list[Proposal]()
    for stamp_s, action in ((1, "fail"), (2, "")):
        worker.offer(Observation.at_rest(stamp_s), [], action)
        assert slow.began.acquire(timeout=30)
        slow.may_end.release()
        assert ready.acquire(timeout=30)
        made += worker.take()
        worker.go_on([])
    # Who waits for the picture that failed hears that nothing came of it.
    assert [(p.observation.stamp_s, len(p.operations)) for p in made] == [(1, 0), (2, 1)]
    assert worker.failed == 1
    worker.close()
