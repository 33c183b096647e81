"""The worlds of a bag one by one: a task that was tried several times, other episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.replay.bag import Bag
from planner.replay.gaps import Gap
from planner.replay.runs import is_another
from planner.replay.states import STATES, recorded_states
from planner.replay.storage import StoredChannel, StoredMessage
from planner.replay.world_info import WORLD_INFO, WorldInfo

# Later than any receipt.
_END_NS = 2**63 - 1


class BagPart(Bag):
    """A bag from the beginning of one world to that of the next.

    What was published before the part began is not in it, but for the worlds that were loaded.

    Attributes:
        number: of the part, 1 = the first.
        count: of the bag's parts.
    """

    def __init__(self, whole: Bag, number: int, begins_ns: Sequence[int]) -> None:
        """Opens the bag again.

        Args:
            whole: the bag.
            number: of the part.
            begins_ns: receipt of the beginning of each world.

        Raises:
            FileError: if there is no readable bag.
        """
        super().__init__(whole.folder)
        self.number, self.count = number, len(begins_ns)
        # The first one has what came before its first state, too.
        self._from_ns = begins_ns[number - 1] if number > 1 else 0
        self._until_ns = begins_ns[number] if number < self.count else _END_NS
        self._worlds = whole.world_infos
        self.start_ns = max(self.start_ns, self._from_ns)
        self.end_ns = min(self.end_ns, self._until_ns)
        # Only the last one has no end where the bag has none.
        self.cut_short &= number == self.count
        self.is_open &= number == self.count

    @property
    def world_infos(self) -> tuple[WorldInfo, ...]:
        """Those of the whole bag: a world may begin anew without being announced again."""
        return self._worlds

    def every(self) -> Iterator[tuple[str, StoredMessage]]:
        """As of a bag."""
        for name, message in super().every():
            if self._from_ns <= message.received_ns < self._until_ns:
                yield name, message

    def recorded_gaps(self, topic: str) -> tuple[Gap, ...]:
        """As of a bag; those that touch the part."""
        every = super().recorded_gaps(topic)
        return tuple(g for g in every if g.to_ns > self._from_ns and g.from_ns < self._until_ns)

    def _read(
        self, topics: Sequence[str], start_ns: int | None, end_ns: int | None
    ) -> Iterator[tuple[StoredChannel, StoredMessage]]:
        first_ns = max(start_ns or 0, self._from_ns)
        last_ns = self._until_ns if end_ns is None else min(end_ns, self._until_ns)
        return super()._read(topics, first_ns, last_ns)


def parts_of(bag: Bag) -> list[Bag]:
    """Each world of a bag in turn; the bag itself where it has one or no state.

    Raises:
        FileError: if the states cannot be read.
    """
    if bag.type_of(STATES) is None:
        return [bag]
    told_ns = [message.received_ns for message in bag.raw((WORLD_INFO,))]
    begins_ns: list[int] = []
    last, last_ns = None, 0
    for seen in recorded_states(bag):
        if last is None or is_another(last, seen.state):
            # A bridge announces a world, then its first state; others may hear the former first.
            before = [at_ns for at_ns in told_ns if last_ns < at_ns < seen.received_ns]
            begins_ns.append(before[-1] if before else seen.received_ns)
        last, last_ns = seen.state, seen.received_ns
    if len(begins_ns) < 2:
        return [bag]
    return [BagPart(bag, number, begins_ns) for number in range(1, len(begins_ns) + 1)]
