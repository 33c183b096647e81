"""What cffi makes of the headers, which say what everything means, and of the C files."""

from typing import Any, Literal, overload

class Pointer:
    """An address that C is given; a buffer's keeps the buffer alive."""

class Floats(Pointer):
    def __getitem__(self, index: int) -> float: ...

class Integers(Pointer): ...

class Lens(Pointer):
    fx_px: float
    fy_px: float
    cx_px: float
    cy_px: float
    width_px: float
    height_px: float
    near_m: float
    far_m: float

class Eye(Pointer):
    lens: Lens
    # Read as Floats; written as numbers.
    at_m: Any
    axes: Any

class Boxes(Pointer):
    agents_from: int
    shares: Floats
    halves_m: Floats
    points_m: Floats
    centers_m: Floats
    slacks_m: Floats
    may_show: Integers
    regions: Integers
    instances: Integers
    geoms_from: Integers
    geoms_of: Integers
    geoms: int
    geom_at_m: Floats
    geom_radius_m: Floats
    groups: Integers
    instance_of_geom: Integers
    shown: Integers

class Look(Pointer):
    in_view: int
    view: Integers
    count: int
    rows: Integers
    fractions: Floats
    pixels: Floats
    distances_m: Floats
    rays: Floats
    probes_m: Floats

class Shapes(Pointer):
    count: int
    kinds: Integers
    sizes_m: Floats
    at_m: Floats
    axes: Floats
    hidden: Integers

class Walls(Pointer):
    walls: int
    starts_m: Floats
    along: Floats
    lengths_m: Floats
    regions: int
    corners_m: Floats
    margin_m: float

class Grid(Pointer):
    rows: int
    columns: int
    x_m: float
    y_m: float
    cell_m: float
    free: Integers
    state: Integers
    gone: Integers
    before: Integers
    place: Integers
    heap: Integers
    order: Integers

class _Ffi:
    NULL: Integers
    def new(self, kind: str) -> Pointer: ...
    @overload
    def from_buffer(self, kind: Literal["double[]", "float[]"], array: object) -> Floats: ...
    @overload
    def from_buffer(
        self, kind: Literal["intptr_t[]", "int32_t[]", "uint64_t[]", "uint8_t[]"], array: object
    ) -> Integers: ...
    def buffer(self, pointer: Pointer) -> bytearray: ...
    @overload
    def unpack(self, pointer: Floats, count: int) -> list[float]: ...
    @overload
    def unpack(self, pointer: Integers, count: int) -> list[int]: ...

class _Lib:
    PROBES: int
    CORNERS: int
    def place(self, boxes: Boxes, row: int, x: float, y: float, z: float, yaw: float) -> None: ...
    def glance(
        self,
        boxes: Boxes,
        eye: Eye,
        lens: Lens,
        x: float,
        y: float,
        z: float,
        heading: float,
        tilt: float,
        rows: Integers,
        count: int,
        own: int,
        hidden: Integers,
        max_distance_m: float,
        min_fraction: float,
        look: Look,
    ) -> int: ...
    def aim(
        self,
        boxes: Boxes,
        eye: Eye,
        unseen: int,
        through: int,
        held: Integers,
        held_count: int,
        look: Look,
    ) -> None: ...
    def tally(self, boxes: Boxes, eye: Eye, hits: Integers, look: Look) -> None: ...
    def draw_depth(self, shapes: Shapes, eye: Eye, depth_m: Floats) -> None: ...
    def hide(self, walls: Walls, square_m: Floats, hidden: Integers) -> None: ...
    def way_between(
        self,
        grid: Grid,
        start: int,
        goal: int,
        discs: Floats,
        disc_count: int,
        cells: Integers,
        length: Floats,
    ) -> int: ...
    def way_off(
        self,
        grid: Grid,
        start: int,
        points_m: Floats,
        count: int,
        gap_m: float,
        discs: Floats,
        disc_count: int,
        cells: Integers,
    ) -> int: ...
    def straighten(self, grid: Grid, cells: Integers, count: int) -> int: ...

ffi: _Ffi
lib: _Lib
