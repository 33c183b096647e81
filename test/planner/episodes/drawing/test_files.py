"""The command `planner episodes draw` and the files it writes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

from planner.cli import main
from planner.episodes.drawing.shapes import Box, Oval, Picture, Text, image_of, svg_text
from planner.episodes.drawing.shapes import Path as Line


@pytest.mark.slow
def test_svg_and_png_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["episodes", "draw", "toys_home_0"]) == 0
    assert "toys_home_0.png" in capsys.readouterr().out
    with Image.open("toys_home_0.png") as image:
        assert min(image.size) > 600
        assert len(image.getcolors(maxcolors=1 << 24) or ()) > 20
    assert main(["episodes", "draw", "toys_home_0", "--output", "a.svg"]) == 0
    root = ET.parse("a.svg").getroot()  # noqa: S314
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "stuffed_toy_0" in texts


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["toys_hom_0"], "did you mean 'toys_home_0'?"),
        (["toys_home_0", "-o", "a.gif"], "a.gif: expected a name that ends in .png or .svg"),
        (["toys_home_0", "-o", "/proc/a.png"], "/proc/a.png: cannot be written"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["episodes", "draw", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_texts_are_no_markup() -> None:
    hostile = "</text><script>alert(1)</script>&\x00\u202e"
    picture = Picture(hostile, 100, 20, (Text(1, 10, hostile, 10),))
    root = ET.fromstring(svg_text(picture))  # noqa: S314
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert root[-1].text == "</text><script>alert(1)</script>&\ufffd\ufffd"


def test_pixels_are_where_the_shapes_are() -> None:
    shapes = (
        Box(10, 10, 20, 20, fill="#ff0000"),
        Oval(60, 20, 10, 10, fill="#00ff00"),
        Line(((0, 50), (100, 50)), stroke="#0000ff", width=4, dashed=True),
    )
    image = image_of(Picture("", 100, 60, shapes), 2)
    assert image.size == (200, 120)
    assert image.getpixel((40, 40)) == (255, 0, 0)
    assert image.getpixel((120, 40)) == (0, 255, 0)
    row = [image.getpixel((x, 100)) for x in range(200)]
    assert row.count((0, 0, 255)) > 80
    assert row.count((255, 255, 255)) > 60
