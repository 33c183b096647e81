"""What a world says in the evidence of a result, beyond its code.

Under `CHANGED`, what a skill changed, where that cannot be concluded from the call, as JSON by
entity: `{"fire_1": {"states": {"burning": false}}}`. Under `HAND_HOLDS`, whether the body feels
something in its hand, `yes` or `no`: a result may have failed and the hand have closed. Under
`REASON`, the word for why a safety rule refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from planner.world.errors import from_validation
from planner.world.state import EntityState
from planner.world.vocabulary import Relation

CHANGED = "changed"
HAND_HOLDS = "hand_holds"
REASON, OPERATOR_REFUSED = "reason", "REFUSED"
_FELT = {"yes": True, "no": False}


class Change(BaseModel):
    """What is different about one entity.

    Attributes:
        states: all that it has now; None = as before.
        parent: where it is now; "" = as before.
        relation: to the parent.
        position_m: of its middle in `map`, where the parent changed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    states: dict[str, bool] | None = None
    parent: str = ""
    relation: Relation | None = None
    position_m: tuple[float, float, float] | None = None


_CHANGES = TypeAdapter(dict[Annotated[str, Field(min_length=1)], Change])


def changes_text(
    before: Mapping[str, EntityState], after: Mapping[str, EntityState], names: Iterable[str]
) -> str:
    """The changes of some entities between two states of the world; "" = none."""
    changes = {name: _change(before[name], after[name]) for name in names}
    found = {name: change for name, change in changes.items() if change != Change()}
    return _CHANGES.dump_json(found, exclude_defaults=True).decode() if found else ""


def read_changes(evidence: Mapping[str, str]) -> Mapping[str, Change]:
    """The changes that a result reports, by entity; empty = none.

    Raises:
        FileError: with the field and the reason, if the text is anything else.
    """
    text = evidence.get(CHANGED, "")
    if not text:
        return {}
    try:
        return _CHANGES.validate_json(text)
    except ValidationError as error:
        raise from_validation(f"evidence {CHANGED}", error) from None


def holding_evidence(*, holds: bool) -> dict[str, str]:
    """The evidence that says whether a body feels something in its hand."""
    return {HAND_HOLDS: next(word for word, felt in _FELT.items() if felt is holds)}


def read_holding(evidence: Mapping[str, str]) -> bool | None:
    """Whether the body felt something in its hand at the end; None = the result does not say."""
    return _FELT.get(evidence.get(HAND_HOLDS, ""))


def operator_refused(evidence: Mapping[str, str]) -> bool:
    """Whether the operator was asked and refused: asked again, they would be pestered."""
    return evidence.get(REASON) == OPERATOR_REFUSED


def _change(before: EntityState, after: EntityState) -> Change:
    states = None if before.states == after.states else dict(after.states or {})
    if (before.parent, before.relation) == (after.parent, after.relation):
        return Change(states=states)
    return Change(
        states=states,
        parent=after.parent or "",
        relation=after.relation,
        position_m=after.box.center_m,
    )
