"""Tests whether a renderer works; run in a child process, as drivers may crash it.

`python -m planner.renderer_probe egl|osmesa|rays` renders a ball and prints one line; the exit
status is 0 if the picture shows it.
"""

from __future__ import annotations

import sys

_BALL = """
<mujoco>
  <visual><quality offsamples="0"/></visual>
  <worldbody>
    <light pos="0 0 3"/>
    <geom type="sphere" size="0.2" pos="0 0 1" rgba="1 0 0 1"/>
    <camera name="camera" pos="0 -1 1" xyaxes="1 0 0 0 0 1"/>
  </worldbody>
</mujoco>
"""
_SIDE_PIXELS = 64


def source(renderer: str) -> str:
    """Return Python code that tests one renderer in a fresh interpreter."""
    return f"import sys; from planner.renderer_probe import main; sys.exit(main([{renderer!r}]))"


def main(argv: list[str]) -> int:
    """Test one renderer: `egl`, `osmesa` or `rays`.

    For the first two MUJOCO_GL must be set to it before anything imports MuJoCo.
    """
    description = _cast_a_ray() if argv == ["rays"] else _draw()
    print(description)
    return 0


def _draw() -> str:
    import mujoco
    from OpenGL import GL

    model = mujoco.MjModel.from_xml_string(_BALL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    renderer = mujoco.Renderer(model, _SIDE_PIXELS, _SIDE_PIXELS)
    try:
        renderer.update_scene(data, "camera")
        middle = renderer.render()[_SIDE_PIXELS // 2, _SIDE_PIXELS // 2]
        if not middle[0] > middle[1]:
            raise RuntimeError(f"rendered {middle} instead of a red ball")
        return str(GL.glGetString(GL.GL_RENDERER).decode())
    finally:
        renderer.close()


def _cast_a_ray() -> str:
    import mujoco
    import numpy as np

    model = mujoco.MjModel.from_xml_string(_BALL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hit = np.zeros(1, dtype=np.int32)
    start, direction = np.array([0.0, -1.0, 1.0]), np.array([0.0, 1.0, 0.0])
    distance_m = mujoco.mj_ray(model, data, start, direction, None, 1, -1, hit)
    if not abs(distance_m - 0.8) < 1e-6:
        raise RuntimeError(f"a ray hit after {distance_m} m instead of 0.8 m")
    return f"MuJoCo {mujoco.__version__}, without OpenGL, slow"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
