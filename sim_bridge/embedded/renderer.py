"""Renders images of a scene: OpenGL through EGL or OSMesa, or rays if neither works.

An OpenGL renderer is bound to the thread that made it.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from typing import Literal, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.geometry import FloatArray
from planner.world.observation import DepthImage, InstanceImage, Intrinsics, RgbImage
from sim_bridge.embedded.scene import GROUP_HIDDEN, Scene
from sim_bridge.embedded.sensing import Images, View

RendererName = Literal["egl", "osmesa", "rays"]
_BACKGROUND_RGB = (216, 228, 238)
_MAX_GEOMS = 20_000
_MAX_CACHED_VIEWS = 8


class Renderer(Protocol):
    """Renders views of scenes."""

    @property
    def name(self) -> RendererName:
        """How it renders."""

    def render(self, scene: Scene, view: View) -> Images:
        """The images of a view of the current scene."""

    def forget(self) -> None:
        """Drops the pictures of a world that is no more, and the world."""

    def close(self) -> None:
        """Frees resources; safe to call twice."""


def visible_geoms(scene: Scene, view: View) -> NDArray[np.bool_]:
    """Which geoms may appear: their bounding spheres are in the frustum and not hidden."""
    intrinsics = view.intrinsics
    rotation = view.pose.rotation()
    relative = (scene.data.geom_xpos - np.asarray(view.pose.position_m)) @ rotation
    radius = scene.model.geom_rbound
    x, y, z = relative.T
    visible: NDArray[np.bool_] = (z > view.near_m - radius) & (z < view.far_m + radius)
    for across, pixels, focal in (
        (x, intrinsics.width_px, intrinsics.fx_px),
        (y, intrinsics.height_px, intrinsics.fy_px),
    ):
        slope = pixels / 2 / focal
        visible &= np.abs(across) < z * slope + radius * math.hypot(1.0, slope)
    visible &= scene.instance_of_geom != view.hidden
    if not view.ceiling:
        visible &= scene.groups != 4
    return visible


class OpenGLRenderer:
    """Two passes per view: colours with depth, then instance ids (no anti-aliasing)."""

    def __init__(self, name: Literal["egl", "osmesa"], width_px: int, height_px: int) -> None:
        """Makes an off-screen context.

        Raises:
            PlannerError: if the libraries are missing or give no context.
        """
        self.name: Literal["egl", "osmesa"] = name
        self._size = (width_px, height_px)
        self._thread = threading.get_ident()
        try:
            self._context: _GLContext | None = _gl_context(name, width_px, height_px)
            self._context.make_current()
        except Exception as error:  # the GL loaders raise arbitrary exceptions
            raise PlannerError(f"renderer {name} does not work here: {error}") from None
        self._model: mujoco.MjModel | None = None
        self._scene: mujoco.MjvScene = None
        self._draw: mujoco.MjrContext = None
        self._options = mujoco.MjvOption()
        self._options.geomgroup[:] = 1
        self._options.geomgroup[GROUP_HIDDEN] = 0
        self._perturbation = mujoco.MjvPerturb()
        self._camera = mujoco.MjvCamera()
        # An unchanged world is rendered once per view.
        self.forget()

    def forget(self) -> None:
        """Drops the pictures of a world that is no more, and the world."""
        self._drawn: dict[View, Images] = {}
        self._drawn_state: tuple[Scene, int] | None = None

    def render(self, scene: Scene, view: View) -> Images:
        """The images of a view of the current scene."""
        if threading.get_ident() != self._thread:
            raise PlannerError("a renderer works only in the thread that made it")
        if self._context is None:
            raise PlannerError("the renderer is closed")
        scene.sync()
        state = (scene, scene.revision)
        if state != self._drawn_state or len(self._drawn) >= _MAX_CACHED_VIEWS:
            self._drawn_state = state
            self._drawn.clear()
        images = self._drawn.get(view)
        if images is None:
            images = self._drawn[view] = self._render(self._context, scene, view)
        return images

    def _render(self, context: _GLContext, scene: Scene, view: View) -> Images:
        # Another backend of this thread may have made its own context current.
        context.make_current()
        self._use(scene.model, view)
        visible = visible_geoms(scene, view)
        scene.model.geom_group[:] = np.where(visible, 0, GROUP_HIDDEN)
        mujoco.mjv_updateScene(
            scene.model,
            scene.data,
            self._options,
            self._perturbation,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        _aim(self._scene, view)
        intrinsics = view.intrinsics
        rectangle = mujoco.MjrRect(0, 0, intrinsics.width_px, intrinsics.height_px)
        rgb = np.empty((intrinsics.height_px, intrinsics.width_px, 3), np.uint8)
        raw = np.empty((intrinsics.height_px, intrinsics.width_px), np.float32)
        ids = np.empty_like(rgb)
        flags = self._scene.flags
        flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = 0
        flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 0
        mujoco.mjr_render(rectangle, self._scene, self._draw)
        mujoco.mjr_readPixels(rgb, raw, rectangle, self._draw)
        instances: InstanceImage = np.zeros(raw.shape, np.int32)
        if view.instances:
            flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = 1
            flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 1
            mujoco.mjr_render(rectangle, self._scene, self._draw)
            mujoco.mjr_readPixels(ids, None, rectangle, self._draw)
            instances = self._instances(ids, scene, visible)
        images = Images(rgb[::-1].copy(), _metric(raw, view)[::-1].copy(), instances)
        for pixels in (images.rgb, images.depth_m, images.instances):
            pixels.setflags(write=False)
        return images

    def _instances(self, ids: RgbImage, scene: Scene, visible: NDArray[np.bool_]) -> InstanceImage:
        drawn = np.flatnonzero(visible)
        if self._scene.ngeom < len(drawn):
            raise PlannerError(f"the scene has more than {_MAX_GEOMS} shapes in view")
        # Pixel colour is 1 + the index in the drawing list, which keeps the order of geoms.
        lookup = np.zeros(self._scene.ngeom + 1, np.int32)
        lookup[1 : len(drawn) + 1] = scene.instance_of_geom[drawn]
        index = ids[::-1, :, 0] + ids[::-1, :, 1].astype(np.int32) * 256
        instances: InstanceImage = lookup[index]
        return instances

    def _use(self, model: mujoco.MjModel, view: View) -> None:
        """Prepares the rendering context, once for all models of the same picture size.

        Our models contain only primitives of one quality, so the GPU stores nothing of a model; a
        new context for each episode would cost 0.15 s.
        """
        size = (
            max(self._size[0], view.intrinsics.width_px),
            max(self._size[1], view.intrinsics.height_px),
        )
        if self._model is not None and size == self._size:
            return
        if model.nmesh or model.ntex or model.nhfield or model.nskin:
            raise PlannerError("the renderer draws models of primitives only")
        if self._model is not None:
            self._draw.free()
        model.vis.global_.offwidth, model.vis.global_.offheight = size
        self._size = size
        self._scene = mujoco.MjvScene(model, _MAX_GEOMS)
        for flag in ("SHADOW", "REFLECTION", "SKYBOX", "FOG", "HAZE"):
            self._scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0
        self._draw = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50)
        self._draw.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._draw)
        self._model = model

    def close(self) -> None:
        """Frees resources; safe to call twice."""
        if self._model is not None:
            self._draw.free()
            self._model = None
        if self._context is not None:
            self._context.free()
            self._context = None


class _GLContext(Protocol):
    def make_current(self) -> None: ...

    def free(self) -> None: ...


def _gl_context(name: Literal["egl", "osmesa"], width_px: int, height_px: int) -> _GLContext:
    # MuJoCo's own GLContext is chosen once at import by MUJOCO_GL; these are its two factories.
    if name == "egl":
        from mujoco.egl import GLContext
    else:
        from mujoco.osmesa import GLContext
    context: _GLContext = GLContext(width_px, height_px)
    return context


def _aim(scene: mujoco.MjvScene, view: View) -> None:
    rotation = view.pose.rotation()
    intrinsics = view.intrinsics
    for camera in (scene.camera[0], scene.camera[1]):
        camera.pos = view.pose.position_m
        camera.forward = rotation[:, 2]
        camera.up = -rotation[:, 1]
        camera.orthographic = 0
        camera.frustum_near = view.near_m
        camera.frustum_far = view.far_m
        camera.frustum_center = 0.0
        camera.frustum_width = view.near_m * intrinsics.width_px / 2 / intrinsics.fx_px
        camera.frustum_top = view.near_m * intrinsics.height_px / 2 / intrinsics.fy_px
        camera.frustum_bottom = -camera.frustum_top


def _metric(raw: NDArray[np.float32], view: View) -> DepthImage:
    """Metres from a reversed depth buffer (1 at near, 0 at far); far becomes 0."""
    near, far = view.near_m, view.far_m
    depth = np.float32(near * far) / (np.float32(near) + raw * np.float32(far - near))
    depth[raw <= 0.0] = 0.0
    return depth


class RayRenderer:
    """Casts a ray for every pixel: needs no graphics library, but is slow."""

    name: RendererName = "rays"

    def render(self, scene: Scene, view: View) -> Images:
        """The images of a view of the current scene."""
        scene.sync()
        intrinsics = view.intrinsics
        shape = (intrinsics.height_px, intrinsics.width_px)
        rays = _pixel_rays(intrinsics)
        directions = np.ascontiguousarray(rays @ view.pose.rotation().T)
        hits = np.empty(len(rays), np.int32)
        ranges = np.empty(len(rays), np.float64)
        visible = visible_geoms(scene, view)
        scene.model.geom_group[:] = np.where(visible, 0, GROUP_HIDDEN)
        groups = np.array([1, 1, 1, 1, 1, 0], np.uint8)
        eye = np.asarray(view.pose.position_m, np.float64)
        scene.cast(eye, directions, groups, hits, ranges, view.far_m * 2)
        met = hits >= 0
        depth = np.where(met, ranges * rays[:, 2], 0.0).astype(np.float32)
        met &= (depth >= view.near_m) & (depth <= view.far_m)
        depth[~met] = 0.0
        instances = np.where(met, scene.instance_of_geom[hits], 0).astype(np.int32)
        rgb = np.empty((len(rays), 3), np.uint8)
        rgb[:] = _BACKGROUND_RGB
        colours = scene.model.geom_rgba[hits[met], :3]
        # Without normals, shade by distance to tell shapes apart.
        shade = 1.0 - 0.5 * np.clip(depth[met] / 8.0, 0.0, 1.0)
        rgb[met] = np.clip(colours * shade[:, None] * 255.0, 0, 255).astype(np.uint8)
        return Images(rgb.reshape(*shape, 3), depth.reshape(shape), instances.reshape(shape))

    def forget(self) -> None:
        """Nothing is kept."""
        return

    def close(self) -> None:
        """Frees resources; safe to call twice."""
        return


def _pixel_rays(intrinsics: Intrinsics) -> FloatArray:
    """(h * w, 3) unit directions of all pixels in the optical frame."""
    columns, rows = np.meshgrid(np.arange(intrinsics.width_px), np.arange(intrinsics.height_px))
    rays = np.stack(
        [
            (columns - intrinsics.cx_px) / intrinsics.fx_px,
            (rows - intrinsics.cy_px) / intrinsics.fy_px,
            np.ones(columns.shape),
        ],
        axis=-1,
    ).reshape(-1, 3)
    unit: FloatArray = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    return unit


def make_renderer(
    choice: Literal["auto", "egl", "osmesa", "rays", "none"], width_px: int, height_px: int
) -> Renderer | None:
    """The requested renderer, or the first that works of EGL, OSMesa and rays.

    Raises:
        PlannerError: if the requested one does not work.
    """
    if choice == "none":
        return None
    if choice == "rays":
        return RayRenderer()
    if choice != "auto":
        return OpenGLRenderer(choice, width_px, height_px)
    order: tuple[Literal["egl", "osmesa"], ...] = ("egl", "osmesa")
    for name in order:
        try:
            return OpenGLRenderer(name, width_px, height_px)
        except PlannerError:
            _forget_opengl()
    return RayRenderer()


def _forget_opengl() -> None:
    # PyOpenGL binds to one platform at its first import; a failed one must not block the next.
    os.environ.pop("PYOPENGL_PLATFORM", None)
    for name in [n for n in sys.modules if n.split(".")[0] == "OpenGL"]:
        del sys.modules[name]
    for name in [n for n in sys.modules if n.startswith(("mujoco.egl", "mujoco.osmesa"))]:
        del sys.modules[name]
