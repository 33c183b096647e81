"""Tasks and worlds for the judge, drawn at random."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from planner.evaluation.task import Predicate, TieKind
from planner.world.states import default_states

THINGS = ("cup_0", "cup_1", "plate_0")
TABLES = ("table_0", "table_1", "table_2", "table_3")
ROOMS = ("kitchen_0", "living_room_0")
CASES = 500
if settings.get_current_profile_name() == "nightly":
    CASES = settings().max_examples


def names(pool, least=1):
    return st.lists(st.sampled_from(pool), min_size=least, max_size=3, unique=True)


@st.composite
def propositions(draw):
    kind = draw(st.sampled_from([*Predicate]))
    things = draw(names(THINGS))
    args = {"objects": things}
    if kind in (Predicate.IS_ON_TOP, Predicate.IS_INSIDE):
        pool = (*TABLES, "floor_kitchen_0", "plate_0")
        args["receptacles"] = draw(
            names(pool if kind is Predicate.IS_ON_TOP else ("toy_box_0", "cabinet_0"))
        )
    elif kind is Predicate.IS_IN_ROOM:
        args["rooms"] = draw(names(ROOMS))
    elif kind is Predicate.IS_NEXT_TO:
        args = {"entities_a": things, "entities_b": draw(names((*THINGS, "table_0")))}
        args["l2_threshold"] = draw(st.sampled_from([0.2, 0.5]))
    elif kind is Predicate.IS_CLUSTERED:
        lists = draw(st.lists(names(THINGS), min_size=2, max_size=3))
        return {"function_name": kind, "args": {"entities": lists}}
    args["number"] = draw(st.integers(1, len(things)))
    if len(args) > 2 and draw(st.booleans()):
        args["is_same_b"] = draw(st.booleans())
    return {"function_name": kind, "args": args}


@st.composite
def tasks(draw):
    entries = draw(st.lists(propositions(), min_size=1, max_size=5))
    everyone = list(range(len(entries)))
    # Links go forward in a random order of the propositions, so that none is a circle.
    rank = draw(st.permutations(everyone))
    forward = [(rank[i], rank[j]) for i in everyone for j in everyone if i < j]
    dependencies, constraints = [], []
    if forward:
        for head, gated in draw(st.lists(st.sampled_from(forward), max_size=4)):
            more = [i for i, j in forward if j == gated and draw(st.booleans())]
            dependencies.append(
                {
                    "proposition_indices": [gated],
                    "depends_on": [head, *more],
                    "relation_type": draw(
                        st.sampled_from(["after_satisfied", "after_unsatisfied", "while_satisfied"])
                    ),
                    "dependency_mode": draw(st.sampled_from(["all", "any"])),
                }
            )
        edges = draw(st.lists(st.sampled_from(forward), max_size=3))
        if edges:
            constraints.append({"type": "TemporalConstraint", "edges": edges})
        for kind in draw(st.lists(st.sampled_from([*TieKind]), min_size=1, max_size=2)):
            members = draw(st.lists(st.sampled_from(everyone), min_size=2, unique=True))
            arity = {
                "is_on_floor": 1,
                "is_clustered": 2,
                **dict.fromkeys(default_states().predicates, 1),
            }
            arguments = [
                draw(st.integers(0, arity.get(entries[i]["function_name"], 2) - 1)) for i in members
            ]
            constraints.append(
                {"type": kind, "proposition_indices": members, "arg_indices": arguments}
            )
    ending = draw(st.none() | st.lists(st.sampled_from(everyone), unique=True))
    if ending is not None:
        final = {"type": "TerminalSatisfactionConstraint", "proposition_indices": ending}
        constraints.append(final)
    return {"propositions": entries, "dependencies": dependencies, "constraints": constraints}


PLACES = (
    ("on", "table_0", 0.0),
    ("on", "table_0", 0.3),
    ("on", "table_1", 0.0),
    ("on", "table_2", 0.45),
    ("on", "table_3", -0.45),
    ("inside", "toy_box_0", 0.0),
    ("inside", "cabinet_0", 0.0),
    ("floor", "", 5.0),
    ("floor", "", 5.3),
    ("floor", "", 9.95),
    ("stack", "plate_0", 0.0),
    ("air", "", 0.0),
)


@st.composite
def streams(draw):
    """What happens at once, and how many simulation steps later than the last state.

    Few places in a case, so that things meet, leave each other and come back.
    """
    places = draw(st.lists(st.sampled_from(PLACES), min_size=2, max_size=4, unique=True))
    change = st.tuples(
        st.just("state"), st.sampled_from([*default_states().defaults]), st.booleans()
    )
    moves = st.tuples(st.sampled_from(THINGS), st.sampled_from(places) | change)
    at_once = st.lists(moves, min_size=1, max_size=2)
    return draw(st.lists(st.tuples(at_once, st.integers(1, 3)), min_size=2, max_size=8))


STREAMS = streams()


def move(lab, thing, place):
    kind, where, more = place
    if kind == "state":
        lab.set(thing, where, more)
    elif kind == "on":
        lab.on(thing, where, dx=more)
    elif kind == "inside":
        lab.inside(thing, where)
    elif kind == "floor":
        lab.at(thing, more, 5)
    elif kind == "stack" and thing != "plate_0":
        x, y, z = lab.entities["plate_0"].pose.position_m
        lab.at(thing, x + 0.02, y, z + 0.1)
    else:
        lab.away(thing, THINGS.index(thing))
