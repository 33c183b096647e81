"""Depth pictures alone, in C: many times as fast as a renderer, for policies and their training."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from planner.world.geometry import FloatArray
from planner.world.observation import DepthImage
from sim_bridge.embedded.compiled import ffi, flags, floats, lib, numbers
from sim_bridge.embedded.scene import GROUP_CEILING, Scene
from sim_bridge.embedded.views import View

if TYPE_CHECKING:
    from sim_bridge.embedded._compiled import Eye, Pointer, Shapes


class DepthView:
    """Draws the depth of one scene; the same shapes and pixels as the renderers'."""

    def __init__(self, scene: Scene) -> None:
        """Takes the shapes of `scene`, whose poses it follows."""
        self._scene = scene
        model, data = scene.model, scene.data
        count = int(model.ngeom)
        self._hidden = np.zeros(count, np.bool_)
        self._ceiling = scene.groups == GROUP_CEILING
        self._kinds = np.ascontiguousarray(model.geom_type, np.int32)
        self._sizes_m: FloatArray = np.ascontiguousarray(model.geom_size, np.float64)
        # Views of MuJoCo's own arrays: they change with the scene.
        self._at_m, self._axes = data.geom_xpos, data.geom_xmat
        self._shapes = cast("Shapes", ffi.new("Shapes *"))
        # C structures do not keep the arrays alive that they point to.
        self._kept: list[Pointer] = [
            kinds := numbers(self._kinds),
            sizes := floats(self._sizes_m),
            at := floats(self._at_m),
            axes := floats(self._axes),
            hidden := flags(self._hidden),
        ]
        self._shapes.count = count
        self._shapes.kinds, self._shapes.sizes_m = kinds, sizes
        self._shapes.at_m, self._shapes.axes, self._shapes.hidden = at, axes, hidden
        self._eye = cast("Eye", ffi.new("Eye *"))

    def draw(self, view: View, *, agents: bool = True) -> DepthImage:
        """(h, w) metres along the optical axis of a view of the current scene; 0 = nothing.

        Without `agents` theirs and what they hold may be out of date, which is faster.
        """
        if agents:
            self._scene.sync()
        else:
            self._scene.sync_scenery()
        np.equal(self._scene.instance_of_geom, view.hidden, out=self._hidden)
        if not view.ceiling:
            self._hidden |= self._ceiling
        intrinsics = view.intrinsics
        lens = self._eye.lens
        lens.fx_px, lens.fy_px = intrinsics.fx_px, intrinsics.fy_px
        lens.cx_px, lens.cy_px = intrinsics.cx_px, intrinsics.cy_px
        lens.width_px, lens.height_px = float(intrinsics.width_px), float(intrinsics.height_px)
        lens.near_m, lens.far_m = view.near_m, view.far_m
        self._eye.at_m = view.pose.position_m
        # Rows: right, down and ahead in the map.
        self._eye.axes = view.pose.rotation().T.tolist()
        depth_m = np.empty((intrinsics.height_px, intrinsics.width_px), np.float32)
        lib.draw_depth(self._shapes, self._eye, ffi.from_buffer("float[]", depth_m))
        return depth_m
