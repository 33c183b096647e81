"""Groups of furniture, arranged in a frame of their own before they are placed.

The frame of a group at a wall has its origin on the wall's face, x into the room, y along the wall
to the left; that of a free-standing group has it in the middle of the anchor's footprint. Metres;
rotations are quarter turns counter-clockwise, 0 facing along x.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.houses.room_program import Companion, GroupRule, HousePrograms, Place, Rect, SizeRange
from planner.world.catalogue import Catalogue
from planner.world.geometry import Vec3

_RUN_GAP_M = 0.01
_BACK_GAP_M = 0.02
_SEAT_PITCH_M = 0.62


@dataclass(frozen=True, slots=True)
class Member:
    """One piece: the middle of its footprint and the quarter turn of its front.

    `touch` are its surfaces and handles from above in its own frame, x forward;
    `opens` says that it has a door, drawer or lid.
    """

    class_name: str
    size_m: Vec3
    x_m: float
    y_m: float
    turn: int = 0
    touch: tuple[Rect, ...] = ()
    opens: bool = False

    @property
    def touched(self) -> list[Rect]:
        """Its surfaces and handles in the group's frame."""
        return [rect.turned(self.turn).moved(self.x_m, self.y_m) for rect in self.touch]

    @property
    def body(self) -> Rect:
        """Its footprint."""
        hx, hy = self.size_m[0] / 2, self.size_m[1] / 2
        if self.turn % 2:
            hx, hy = hy, hx
        return Rect(self.x_m - hx, self.y_m - hy, self.x_m + hx, self.y_m + hy)

    def front(self, depth_m: float) -> Rect:
        """The floor in front of it."""
        body = self.body
        return (
            Rect(body.x1, body.y0, body.x1 + depth_m, body.y1),
            Rect(body.x0, body.y1, body.x1, body.y1 + depth_m),
            Rect(body.x0 - depth_m, body.y0, body.x0, body.y1),
            Rect(body.x0, body.y0 - depth_m, body.x1, body.y0),
        )[self.turn % 4]


@dataclass(frozen=True, slots=True)
class Group:
    """Pieces that are placed together.

    Attributes:
        core: how many of the first members are essential; the rest are companions.
        fronts: the depth of floor to keep free in front of each member; 0 for none.
    """

    members: tuple[Member, ...]
    place: Place
    fronts: tuple[float, ...]
    core: int
    essential: bool
    run: bool = False

    def at_wall(self) -> Group:
        """The same group with its back to a wall."""
        shift = _BACK_GAP_M - min(member.body.x0 for member in self.members)
        members = tuple(replace(m, x_m=m.x_m + shift) for m in self.members)
        return replace(self, members=members, place=Place.WALL)

    def shrunk(self) -> Group:
        """The group without its last companion."""
        return replace(self, members=self.members[:-1], fronts=self.fronts[:-1])

    @property
    def is_run(self) -> bool:
        """Whether it is a row of pieces side by side that may be split."""
        return self.run and len(self.members) > 1

    @property
    def can_shrink(self) -> bool:
        """Whether there is a companion left to remove."""
        return len(self.members) > self.core

    @property
    def floor_m2(self) -> float:
        """The area of the rectangle around the members and the floor kept free for them."""
        rects = [member.body for member in self.members]
        rects += [m.front(d) for m, d in zip(self.members, self.fronts, strict=True) if d]
        width = max(r.x1 for r in rects) - min(r.x0 for r in rects)
        return width * (max(r.y1 for r in rects) - min(r.y0 for r in rects))


class GroupMaker:
    """Draws sizes from the catalogue and arranges groups by the rules."""

    def __init__(
        self,
        catalogue: Catalogue,
        programs: HousePrograms,
        rng: np.random.Generator,
        wide: Collection[str] = (),
    ) -> None:
        """`wide` are classes whose pieces are as wide and deep as they come."""
        self._catalogue = catalogue
        self._programs = programs
        self._rng = rng
        self._wide = frozenset(wide)

    def single(self, class_name: str) -> Group:
        """One required piece, at a wall, where it is least in the way."""
        place = self._programs.stand(class_name).place
        wall = Place.WALL if place is Place.OPEN else place
        return self.make(GroupRule(furniture=class_name, essential=True, place=wall))

    def make(self, rule: GroupRule) -> Group:
        """A group by its rule; the caller handles `chance` and `count`."""
        if rule.furniture is None:
            members, core = self._run(rule.run), len(rule.run)
            place = rule.place or Place.WALL
        else:
            place = rule.place or self._programs.stand(rule.furniture).place
            members, core = self._with_companions(rule, rule.furniture, place)
        fronts = tuple(self._programs.stand(m.class_name).front_m for m in members)
        return Group(members, place, fronts, core, rule.essential, bool(rule.run))

    def split(self, group: Group) -> tuple[Group, Group]:
        """Splits a run that is too long for any wall into two."""
        classes = [member.class_name for member in group.members]
        half = (len(classes) + 1) // 2
        first, second = (
            GroupRule(run=tuple(part), place=Place.CORNER, essential=group.essential)
            for part in (classes[:half], classes[half:])
        )
        return self.make(first), self.make(second)

    def _size(self, class_name: str, size: SizeRange | None = None) -> Vec3:
        known = self._catalogue.furniture[class_name]
        low, high = known.size_min_m, known.size_max_m
        if size is not None:
            low, high = size.size_min_m, size.size_max_m
        x, y, z = (round(float(v), 2) for v in self._rng.uniform(low, high))
        return (high[0], high[1], z) if class_name in self._wide else (x, y, z)

    def _member(self, class_name: str, size: Vec3, x: float, y: float, turn: int = 0) -> Member:
        cls = self._catalogue.furniture[class_name]
        middles = [(s.center, s.size) for s in cls.surfaces]
        middles += [(joint.handle, (0.0, 0.0)) for joint in cls.joints]
        touch = tuple(
            Rect(
                (center[0] - extent[0] / 2) * size[0],
                (center[1] - extent[1] / 2) * size[1],
                (center[0] + extent[0] / 2) * size[0],
                (center[1] + extent[1] / 2) * size[1],
            )
            for center, extent in middles
        )
        return Member(class_name, size, x, y, turn, touch, bool(cls.joints))

    def _draw(self, count: tuple[int, int]) -> int:
        return int(self._rng.integers(count[0], count[1] + 1))

    def _run(self, classes: Sequence[str]) -> tuple[Member, ...]:
        # One depth for the whole run, so that its front is aligned.
        sizes = [self._size(name) for name in classes]
        members, y = [], 0.0
        for name, size in zip(classes, sizes, strict=True):
            members.append(self._member(name, size, size[0] / 2 + _BACK_GAP_M, y + size[1] / 2))
            y += size[1] + _RUN_GAP_M
        return tuple(members)

    def _with_companions(
        self, rule: GroupRule, furniture: str, place: Place
    ) -> tuple[tuple[Member, ...], int]:
        size = self._size(furniture, rule.size)
        x = 0.0 if place is Place.OPEN else size[0] / 2 + _BACK_GAP_M
        behind: list[Member] = []
        for companion in rule.companions:
            if companion.at == "behind" and self._draw(companion.count):
                depth = self._size(companion.furniture, companion.size)
                behind.append(
                    self._member(companion.furniture, depth, x + (depth[0] - size[0]) / 2, 0.0)
                )
                x += depth[0] + companion.gap_m
        anchor = self._member(furniture, size, x, 0.0)
        members = [anchor, *behind]
        core = len(members)
        ahead: list[Member] = []
        for companion in rule.companions:
            if companion.at == "ahead":
                last = ahead[-1] if ahead else anchor
                ahead += self._ahead(companion, last)
            elif companion.at == "beside":
                members += self._beside(companion, anchor)
            elif companion.at == "around":
                members += self._around(companion, anchor)
            elif companion.at == "flank":
                members += self._flank(companion, ahead[0] if ahead else anchor)
        # The pieces ahead come first, so a couch is dropped after its armchairs.
        return (*members[:core], *ahead, *members[core:]), core

    def _ahead(self, companion: Companion, last: Member) -> list[Member]:
        size = self._size(companion.furniture, companion.size)
        if not self._draw(companion.count):
            return []
        x = last.body.x1 + companion.gap_m + size[0] / 2
        return [self._member(companion.furniture, size, x, last.y_m, 2)]

    def _beside(self, companion: Companion, anchor: Member) -> list[Member]:
        members = []
        side = 1 if self._rng.random() < 0.5 else -1
        for _ in range(min(2, self._draw(companion.count))):
            size = self._size(companion.furniture, companion.size)
            offset = anchor.size_m[1] / 2 + companion.gap_m + size[1] / 2
            back = anchor.body.x0
            members.append(
                self._member(companion.furniture, size, back + size[0] / 2, side * offset)
            )
            side = -side
        return members

    def _flank(self, companion: Companion, middle: Member) -> list[Member]:
        members = []
        side = 1 if self._rng.random() < 0.5 else -1
        for _ in range(min(2, self._draw(companion.count))):
            size = self._size(companion.furniture, companion.size)
            offset = middle.size_m[1] / 2 + companion.gap_m + size[0] / 2
            turn = 3 if side > 0 else 1
            members.append(self._member(companion.furniture, size, middle.x_m, side * offset, turn))
            side = -side
        return members

    def _around(self, companion: Companion, anchor: Member) -> list[Member]:
        """Seats on the long sides first, in pairs, then at the two ends."""
        size = self._size(companion.furniture, companion.size)
        wanted = self._draw(companion.count)
        along = max(1, int(anchor.size_m[1] / _SEAT_PITCH_M))
        out = anchor.size_m[0] / 2 + companion.gap_m + size[0] / 2
        pitch = anchor.size_m[1] / along
        spots = []
        for i in range(along):
            y = (i + 0.5) * pitch - anchor.size_m[1] / 2
            spots += [(out, y, 2), (-out, y, 0)]
        end = anchor.size_m[1] / 2 + companion.gap_m + size[0] / 2
        spots += [(0.0, end, 3), (0.0, -end, 1)]
        return [
            self._member(companion.furniture, size, anchor.x_m + x, anchor.y_m + y, turn)
            for x, y, turn in spots[:wanted]
        ]
