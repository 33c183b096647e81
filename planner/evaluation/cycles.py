"""Cycles and topological order among propositions."""

from __future__ import annotations

from collections.abc import Iterable


def find_cycle(links: Iterable[tuple[int, int]]) -> list[int]:
    """A cycle in links (from, to), with the first node repeated at the end; empty if none."""
    successors: dict[int, list[int]] = {}
    for start, end in sorted(links):
        successors.setdefault(start, []).append(end)
    done: set[int] = set()
    for root in successors:
        if root in done:
            continue
        # Not recursive: a file may chain hundreds of propositions.
        stack = [(root, iter(successors[root]))]
        path, on_path = [root], {root}
        while stack:
            node, rest = stack[-1]
            following = next((n for n in rest if n not in done), None)
            if following is None:
                stack.pop()
                on_path.discard(path.pop())
                done.add(node)
            elif following in on_path:
                return [*path[path.index(following) :], following]
            else:
                stack.append((following, iter(successors.get(following, ()))))
                path.append(following)
                on_path.add(following)
    return []


def in_order(count: int, links: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """The numbers 0 to count-1, sorted so that each link (from, to) goes forward.

    Raises:
        ValueError: if the links form a cycle.
    """
    waiting = [0] * count
    successors: list[list[int]] = [[] for _ in range(count)]
    for start, end in set(links):
        successors[start].append(end)
        waiting[end] += 1
    ready = [i for i in range(count) if not waiting[i]]
    order = []
    for node in ready:
        order.append(node)
        for following in successors[node]:
            waiting[following] -= 1
            if not waiting[following]:
                ready.append(following)
    if len(order) != count:
        raise ValueError("the links form a cycle")
    return tuple(order)
