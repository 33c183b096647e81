"""What an occasion stands for, as requests of the same form."""

from __future__ import annotations

from planner.language.description import Description, Mention, OneOf, Place
from planner.language.goal_form import Make, Move, Prepare, Request
from planner.language.words import Amount, Occasion, Relation, Spot

_SETTING = ("plate", "cutlery")
_DRINKS = {Occasion.MAKE_COFFEE: "filled with coffee"}
_CUP = "served"


def requests_of(prepare: Prepare) -> tuple[Request, ...]:
    """What has to be done; nothing if no state of the catalogue says when it is done."""
    if prepare.occasion is Occasion.SET_TABLE:
        return (_set_table(prepare),)
    if prepare.occasion is Occasion.TIDY:
        return (_tidy(prepare),)
    state = _DRINKS.get(prepare.occasion)
    if state is None:
        return ()
    cup = Description(kind="cup", count=prepare.people or 1, label=_CUP)
    made = Make(things=(cup,), states=(state,))
    if prepare.at is None:
        return (made,)
    return made, Move(
        things=(Mention(label=_CUP),), to=(Place(relation=Relation.AT, anchor=prepare.at),)
    )


def _set_table(prepare: Prepare) -> Move:
    count = prepare.people or 1
    glass, cup = (Description(kind=kind, count=count) for kind in ("glass", "cup"))
    table = prepare.at or Description(kind="dining table", definite=True)
    return Move(
        things=(
            *(Description(kind=kind, count=count) for kind in _SETTING),
            OneOf(one_of=(glass, cup)),
        ),
        to=(Place(relation=Relation.ON_TOP, anchor=table),),
    )


def _tidy(prepare: Prepare) -> Move:
    where = () if prepare.at is None else (Place(relation=Relation.AT, anchor=prepare.at),)
    things = Description(kind="thing", count=Amount.ALL, where=where)
    return Move(things=(things,), to=(Place(relation=Relation.AT, anchor=Spot.USUAL),))
