"""The page of language models names what there is."""

from __future__ import annotations

from pathlib import Path

from planner.models.chat import MODELS, Role

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "language_models.md").read_text(encoding="utf-8")


def test_every_model_and_its_options_stand_in_the_page() -> None:
    for name, part in MODELS.usable().items():
        assert f"| `{name}` |" in PAGE, name
        for option in part.options:
            assert f"`{option.name}`" in PAGE, option.name


def test_every_role_stands_in_the_page() -> None:
    for role in Role:
        assert f"`{role.value}`" in PAGE, role
