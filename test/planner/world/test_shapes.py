"""Words for colours and materials, and what is drawn."""

from __future__ import annotations

import pytest

from planner.world.catalogue import default_catalogue
from planner.world.furnishing import (
    build_furniture,
    class_color,
    look_of_piece,
    look_of_thing,
    thing_parts,
)
from planner.world.shapes import (
    Color,
    Look,
    Material,
    color_of,
    look_states,
    main_color,
    painted,
    take_look,
)


def rgb(text: str) -> tuple[float, float, float]:
    red, green, blue = (int(text[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return (red, green, blue)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("c8281f", Color.RED),
        ("ef9db0", Color.PINK),
        ("6b4526", Color.BROWN),
        ("ee7f22", Color.ORANGE),
        ("f5e04a", Color.YELLOW),
        ("3d7d3a", Color.GREEN),
        ("3a6fb7", Color.BLUE),
        ("8a4fb0", Color.PURPLE),
        ("f4f3ee", Color.WHITE),
        ("a9b1b8", Color.GRAY),
        ("1c1f23", Color.BLACK),
    ],
)
def test_colours_have_the_words_that_people_use(text: str, word: Color) -> None:
    assert color_of(rgb(text)) is word


@pytest.mark.parametrize("color", [c for c in Color if c not in (Color.GOLD, Color.SILVER)])
def test_what_is_painted_in_a_colour_is_seen_in_it(color: Color) -> None:
    parts = default_catalogue().objects["book"].parts
    assert main_color(painted(parts, color)) is color


def test_paint_leaves_the_parts_of_other_colours() -> None:
    cls = default_catalogue().objects["kettle"]
    before, after = cls.parts, painted(cls.parts, Color.BLUE)
    same = [new == old for old, new in zip(before, after, strict=True)]
    assert any(same)
    assert not all(same)
    assert painted(before, None) == before


def test_every_colour_of_a_class_is_another_one() -> None:
    for cls in default_catalogue().objects.values():
        assert class_color(cls) not in cls.colors, cls.name
        assert len(set(cls.colors)) == len(cls.colors), cls.name


def test_a_thing_has_the_look_of_its_class_unless_its_house_says_otherwise() -> None:
    catalogue = default_catalogue()
    assert look_of_thing("cup", catalogue) == Look(Color.RED, Material.CERAMIC)
    blue = look_of_thing("cup", catalogue, Color.BLUE, Material.GLASS)
    assert blue == Look(Color.BLUE, Material.GLASS)
    parts = thing_parts(catalogue.objects["cup"], (0.08, 0.11, 0.1), Color.BLUE)
    assert main_color(parts) is Color.BLUE
    assert look_of_thing("gadget_of_another_data_set", catalogue) == Look()


def test_furniture_has_the_look_that_is_drawn() -> None:
    cls = default_catalogue().furniture["table"]
    table = build_furniture(cls, "table_0", "kitchen_0", 0, 0, 0, cls.size_min_m)
    assert look_of_piece(table) == Look(Color.BROWN, Material.WOOD)
    white = table.model_copy(update={"color": Color.WHITE, "material": Material.METAL})
    assert look_of_piece(white) == Look(Color.WHITE, Material.METAL)
    assert main_color(white.drawn_parts) is Color.WHITE


@pytest.mark.parametrize("look", [Look(), Look(Color.RED), Look(Color.GRAY, Material.WOOD)])
def test_messages_carry_a_look_beside_the_states(look: Look) -> None:
    states = {"clean": True, "filled_with_water": True, "powered_on": False}
    assert take_look({**states, **look_states(look)}) == (states, look)
