"""Random tasks with random worlds for the published judge, as plain data.

A world is which of a task's atoms are true: a relation of two names or a state of one, such as
("is_on_top", "a", "p"). No geometry stands behind them, so that every pattern occurs. Names have
few letters because the published code compares names by their letters (DEFECT-D1).
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

from planner.evaluation.task import Predicate, TieKind, predicate_named
from planner.world.states import default_states

THINGS = ("a", "b", "ab", "c")
PLACES = ("p", "q", "pq")
# The published code knows PARTNR's states only, which always have a value.
_STATES = [p for p, (s, _) in default_states().predicates.items() if s in default_states().defaults]
_ONE_LIST = (Predicate.IS_ON_FLOOR, *_STATES)
_ARGUMENTS = {
    Predicate.IS_ON_TOP: ("objects", "receptacles"),
    Predicate.IS_INSIDE: ("objects", "receptacles"),
    Predicate.IS_IN_ROOM: ("objects", "rooms"),
    Predicate.IS_NEXT_TO: ("entities_a", "entities_b"),
}

Atom = tuple[str, ...]
Document = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A task and the atoms that are true in each of its steps."""

    document: Document
    worlds: tuple[frozenset[Atom], ...]


def atoms(document: Document) -> list[Atom]:
    """All that can be true or false of what a task names, in a fixed order."""
    found: dict[Atom, None] = {}
    for entry in document["propositions"]:
        predicate, args = predicate_named(entry["function_name"]), entry["args"]
        if predicate is Predicate.IS_CLUSTERED:
            names = sorted(set(itertools.chain.from_iterable(args["entities"])))
            pairs = itertools.combinations(names, 2)
            found.update({(Predicate.IS_NEXT_TO.value, *pair): None for pair in pairs})
        elif predicate in _ARGUMENTS:
            first, second = (args[name] for name in _ARGUMENTS[predicate])
            pairs = ((a, b) for a, b in itertools.product(first, second) if a != b)
            if predicate is Predicate.IS_NEXT_TO:
                pairs = (tuple(sorted(pair)) for pair in pairs)
            found.update({(predicate.value, *pair): None for pair in pairs})
        else:
            kind = (
                default_states().predicates[predicate][0]
                if predicate in default_states().predicates
                else "floor"
            )
            found.update({(kind, name): None for name in args["objects"]})
    return list(found)


def names_in(document: Document) -> set[str]:
    """All names of a task."""
    return set(itertools.chain.from_iterable(atom[1:] for atom in atoms(document)))


def random_case(seed: int) -> Case:
    """One case; the same seed gives the same one on the same Python."""
    rng = random.Random(seed)
    entries = [_proposition(rng) for _ in range(rng.randint(1, 5))]
    document = {"propositions": entries, **_links(rng, entries)}
    everything = atoms(document)
    now = {atom for atom in everything if rng.random() < 0.25}
    worlds = [frozenset(now)]
    for _ in range(rng.randint(1, 7)):
        now ^= set(rng.sample(everything, min(len(everything), rng.randint(0, 4))))
        worlds.append(frozenset(now))
    return Case(document, tuple(worlds))


def _some(rng: random.Random, pool: tuple[str, ...]) -> list[str]:
    return rng.sample(pool, rng.randint(1, 3))


def _proposition(rng: random.Random) -> Document:
    # Every other one is a relation, because states have no ties worth the name.
    pool = _ONE_LIST if rng.random() < 0.2 else (*_ARGUMENTS, Predicate.IS_CLUSTERED)
    predicate = rng.choice(pool)
    if predicate is Predicate.IS_CLUSTERED:
        lists = [_some(rng, THINGS) for _ in range(rng.randint(2, 3))]
        return {"function_name": str(predicate), "args": {"entities": lists}}
    first = _some(rng, THINGS)
    args: Document = {"number": rng.randint(1, len(first))}
    if predicate in _ARGUMENTS:
        a, b = _ARGUMENTS[predicate]
        second = THINGS if predicate is Predicate.IS_NEXT_TO else PLACES
        args |= {a: first, b: _some(rng, second), "is_same_b": rng.random() < 0.4}
    else:
        args["objects"] = first
    return {"function_name": str(predicate), "args": args}


def _links(rng: random.Random, entries: list[Document]) -> Document:
    everyone = list(range(len(entries)))
    rank = rng.sample(everyone, len(everyone))
    forward = [(rank[i], rank[j]) for i, j in itertools.combinations(everyone, 2)]
    dependencies: list[Document] = []
    constraints: list[Document] = [
        {
            "type": "TerminalSatisfactionConstraint",
            "proposition_indices": sorted(rng.sample(everyone, rng.randint(0, len(everyone)))),
        }
    ]
    for head, gated in rng.choices(forward, k=rng.randint(0, 3)) if forward else ():
        heads = {head, *(i for i, j in forward if j == gated and rng.random() < 0.3)}
        dependencies.append(
            {
                "proposition_indices": [gated],
                "depends_on": sorted(heads),
                "relation_type": rng.choice(
                    ["after_satisfied", "after_unsatisfied", "while_satisfied"]
                ),
                "dependency_mode": rng.choice(["all", "any"]),
            }
        )
    for _ in range(rng.choice([0, 1, 1, 2]) if forward else 0):
        edges = sorted(set(rng.choices(forward, k=rng.randint(1, 3))))
        constraints.append({"type": "TemporalConstraint", "edges": [list(e) for e in edges]})
    if len(everyone) > 1:
        kinds = rng.choices([*TieKind], k=rng.randint(0, 2))
        constraints += [_tie(rng, kind, entries) for kind in kinds]
    rng.shuffle(constraints)
    return {"dependencies": dependencies, "constraints": constraints}


def _tie(rng: random.Random, kind: TieKind, entries: list[Document]) -> Document:
    members = rng.sample(range(len(entries)), rng.randint(2, len(entries)))
    return {
        "type": kind.value,
        "proposition_indices": members,
        "arg_indices": [rng.randrange(_argument_count(entries[i])) for i in members],
    }


def _argument_count(entry: Document) -> int:
    predicate = predicate_named(entry["function_name"])
    if predicate is Predicate.IS_CLUSTERED:
        return len(entry["args"]["entities"])
    return 2 if predicate in _ARGUMENTS else 1
