"""What a world says that a skill changed, where that cannot be concluded from the call.

It is in the evidence of a result under `CHANGED`, as JSON by entity:
`{"fire_1": {"states": {"burning": false}}}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from planner.world.errors import from_validation
from planner.world.state import EntityState
from planner.world.vocabulary import Relation

CHANGED = "changed"


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
