"""What models cost by a file of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.models.price_table import read_prices
from planner.world.errors import FileError


def write(path: Path, models: str, currency: str = "EUR") -> str:
    path.write_text(f"version: 1\ncurrency: {currency}\nmodels: {models}\n")
    return str(path)


def test_cached_tokens_have_a_price_of_their_own_or_that_of_the_prompt(tmp_path: Path) -> None:
    models = "{small: {prompt: 2.0, cached: 0.5, reply: 8.0}, 'org/big': {prompt: 2.0, reply: 8}}"
    prices = read_prices(write(tmp_path / "prices.yaml", models))
    assert prices is not None
    assert prices.currency == "EUR"
    assert prices.cost("small", 1_000_000, 400_000, 100_000) == pytest.approx(1.2 + 0.2 + 0.8)
    assert prices.cost("org/big", 1_000_000, 400_000, 100_000) == pytest.approx(2.0 + 0.8)
    assert prices.cost("other", 1, 0, 1) is None
    assert read_prices("") is None


@pytest.mark.parametrize(
    ("models", "currency", "field"),
    [
        ("{small: {prompt: -1, reply: 1}}", "EUR", "models.small.prompt"),
        ("{small: {prompt: 1}}", "EUR", "models.small.reply"),
        ("{small: {prompt: 1, reply: .nan}}", "EUR", "models.small.reply"),
        ("{}", "'<b>'", "currency"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_error(
    tmp_path: Path, models: str, currency: str, field: str
) -> None:
    path = write(tmp_path / "prices.yaml", models, currency)
    with pytest.raises(FileError) as error:
        read_prices(path)
    assert path in str(error.value)
    assert field in str(error.value)
    with pytest.raises(FileError):
        read_prices(str(tmp_path / "none.yaml"))
