"""Pictures in messages to models."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.world.errors import PlannerError

# Imported where a picture is made: most importers of messages have none.
if TYPE_CHECKING:
    from planner.world.observation import RgbImage


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as PNG, so that messages compare and hash by its pixels."""

    png: bytes

    @staticmethod
    def of(image: RgbImage) -> Picture:
        """Encodes an image, (h, w, 3) uint8 RGB.

        Raises:
            PlannerError: if the array is not such an image.
        """
        import cv2
        import numpy as np

        done, body = cv2.imencode(".png", np.ascontiguousarray(image[..., ::-1]))
        if not done:
            raise PlannerError("the picture cannot be encoded")
        return Picture(body.tobytes())

    @property
    def image(self) -> RgbImage:
        """The image, (h, w, 3) uint8 RGB."""
        import cv2
        import numpy as np

        decoded = cv2.imdecode(np.frombuffer(self.png, np.uint8), cv2.IMREAD_COLOR)
        if decoded is None:
            raise PlannerError("the picture cannot be decoded")
        return np.ascontiguousarray(decoded[..., ::-1], np.uint8)

    @property
    def digest(self) -> str:
        """Identifies the picture in traces and recordings."""
        return hashlib.sha256(self.png).hexdigest()[:16]

    @property
    def data_url(self) -> str:
        """The form that HTTP servers accept."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode()
