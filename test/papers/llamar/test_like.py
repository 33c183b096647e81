"""Skills that are like others count as those."""

from __future__ import annotations

from planner.parts.calls import SKILLS, acted_as, parse_call


def test_an_action_of_llamar_counts_as_the_skill_that_it_is_like() -> None:
    call = acted_as(parse_call("PutObject[cup_0, on, table_0, None, None]"))
    assert str(call) == "Place[cup_0, on, table_0, None, None]"
    assert str(acted_as(parse_call("Move[Ahead]"))) == "Move[Ahead]"


def test_what_a_skill_is_like_takes_the_same_arguments_and_has_the_same_effects() -> None:
    alike = {name: part for name, part in SKILLS.usable().items() if part.like}
    assert len(alike) == 9
    for name, part in alike.items():
        other = SKILLS.get(part.like)
        assert part.roles == other.roles, name
        assert part.effects == other.effects, name
        assert not part.named_text, name
