"""Aligns a frame with the map by markers that are known in both, and finds contradictions.

Both frames are upright, so what is sought is a position and a heading. Each marker gives its
position and the direction that its page faces; how it is tilted or rotated on the wall is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.world.geometry import Pose, Vec3, wrap_angle_rad

# Layouts whose markers are farther off than this, after the best alignment, contradict themselves.
MOST_OFF_M, MOST_TURNED_RAD = 0.3, math.radians(10.0)
# A heading that is less certain than this is unknown.
_UNKNOWN_RAD = 0.2
# A page whose normal is closer to the vertical than 30 degrees faces no direction.
_LEAST_FLAT = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    """One marker in two frames.

    Attributes:
        tag: its number.
        seen: the page's frame (x up, y left, z out of the page) in the frame to be aligned.
        known: the same in the map.
        sigma_m: how uncertain its position is.
        sigma_rad: how uncertain its direction is; infinite if it is not to be used.
    """

    tag: int
    seen: Pose
    known: Pose
    sigma_m: float
    sigma_rad: float

    @property
    def turn_rad(self) -> float | None:
        """The heading of the frame in the map by this marker's direction alone."""
        seen, known = facing_rad(self.seen), facing_rad(self.known)
        if seen is None or known is None or math.isinf(self.sigma_rad):
            return None
        return wrap_angle_rad(known - seen)


def facing_rad(page: Pose) -> float | None:
    """The direction that a page's printed side faces; None for a page that lies flat."""
    x, y, _ = page.position_m
    out = page.apply((0.0, 0.0, 1.0))
    across, along = out[0] - x, out[1] - y
    return math.atan2(along, across) if math.hypot(across, along) >= _LEAST_FLAT else None


def align(pairs: Sequence[Pair]) -> Pose | None:
    """The frame in the map, upright, by weighted least squares; None if its heading is unknown.

    Minimises the squares of the markers' distances and, as 2 - 2 cos, of their directions'
    differences, each divided by its variance, which has a closed form.
    """
    if not pairs:
        return None
    weights = [1.0 / pair.sigma_m**2 for pair in pairs]
    seen_m = _mean(weights, [pair.seen.position_m for pair in pairs])
    known_m = _mean(weights, [pair.known.position_m for pair in pairs])
    along = across = 0.0
    for pair, weight in zip(pairs, weights, strict=True):
        ax, ay = (pair.seen.position_m[i] - seen_m[i] for i in range(2))
        bx, by = (pair.known.position_m[i] - known_m[i] for i in range(2))
        along += weight * (ax * bx + ay * by)
        across += weight * (ax * by - ay * bx)
        turn = pair.turn_rad
        if turn is not None:
            along += math.cos(turn) / pair.sigma_rad**2
            across += math.sin(turn) / pair.sigma_rad**2
    if math.hypot(along, across) * _UNKNOWN_RAD**2 < 1.0:
        return None
    turned = Pose.planar(0.0, 0.0, math.atan2(across, along))
    moved_m = turned.apply(seen_m)
    x, y, z = (known - moved for known, moved in zip(known_m, moved_m, strict=True))
    return Pose((x, y, z), turned.orientation)


def _mean(weights: Sequence[float], points_m: Sequence[Vec3]) -> Vec3:
    whole = sum(weights)
    x, y, z = (
        sum(weight * point[i] for weight, point in zip(weights, points_m, strict=True)) / whole
        for i in range(3)
    )
    return (x, y, z)


def contradiction(pairs: Sequence[Pair]) -> str:
    """How the markers contradict each other, naming them and by how much; empty if they do not.

    With three or more, the one without which the others agree is named, if there is only one.
    """
    if _agree(pairs):
        return ""
    culprits = []
    if len(pairs) > 2:
        for pair in pairs:
            others = [each for each in pairs if each is not pair]
            if align(others) is not None and _agree(others):
                culprits.append((pair, others))
    allowed = (
        f"at most {MOST_OFF_M:g} m and {math.degrees(MOST_TURNED_RAD):.0f} degrees are allowed; "
        "measure position_m and yaw_rad again (fiducials)"
    )
    if len(culprits) == 1:
        pair, others = culprits[0]
        return (
            f"the layout's marker {pair.tag} is {_off(pair, align(others))} away from where "
            f"{name_markers(others)} put it; {allowed}"
        )
    off = _worst(pairs)
    return f"the layout's {name_markers(pairs)} contradict each other by {off}; {allowed}"


def name_markers(pairs: Sequence[Pair]) -> str:
    """`marker 7`, or `markers 7 and 9`."""
    names = [str(tag) for tag in sorted(pair.tag for pair in pairs)]
    if len(names) == 1:
        return f"marker {names[0]}"
    return f"markers {', '.join(names[:-1])} and {names[-1]}"


def _agree(pairs: Sequence[Pair]) -> bool:
    fitted = align(pairs)
    if fitted is None:
        return True
    return all(
        _off_m(pair, fitted) <= MOST_OFF_M and _turned_rad(pair, fitted) <= MOST_TURNED_RAD
        for pair in pairs
    )


def _off_m(pair: Pair, fitted: Pose) -> float:
    return math.dist(fitted.apply(pair.seen.position_m), pair.known.position_m)


def _turned_rad(pair: Pair, fitted: Pose) -> float:
    turn = pair.turn_rad
    return 0.0 if turn is None else abs(wrap_angle_rad(turn - fitted.yaw_rad))


def _off(pair: Pair, fitted: Pose | None) -> str:
    if fitted is None:
        return "an unknown distance"
    turned = math.degrees(_turned_rad(pair, fitted))
    return f"{_off_m(pair, fitted):.2f} m and {turned:.0f} degrees"


def _worst(pairs: Sequence[Pair]) -> str:
    """How far at most one marker alone puts another from where the layout has it."""
    found = [
        (_off_m(other, alone), _off(other, alone))
        for pair in pairs
        if (alone := align([pair])) is not None
        for other in pairs
    ]
    if found:
        return max(found)[1]
    fitted = align(pairs)
    return max((_off(pair, fitted) for pair in pairs), default="")
