"""Pictures as the page shows them."""

from __future__ import annotations

import io

from PIL import Image

from planner.world.observation import RgbImage

# Seen beside each other at a third of their size, more is not told apart.
QUALITY = 80


def jpeg_of(rgb: RgbImage) -> bytes:
    """A JPEG of a picture of colours, (h, w, 3), by the library that draws the plan's labels."""
    packed = io.BytesIO()
    Image.fromarray(rgb).save(packed, "JPEG", quality=QUALITY)
    return packed.getvalue()
