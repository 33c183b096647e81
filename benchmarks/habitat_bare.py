"""habitat-sim without our bridge, for benchmarks/bench_habitat.py: the same world and views.

`PYTHON habitat_bare.py` reads the bridge's recorded requests to habitat-sim as JSON from its input,
loads the same, and then renders the views with habitat-sim's own calls only. It runs in the Python
of habitat-sim, so it uses nothing of ours except the worker's file.
"""

from __future__ import annotations

import json
import mmap
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sim_bridge" / "habitat"))
from worker import Simulation, picture_bytes

ROUNDS = 3
_LOADS = ("open_house", "add", "put")


class Bare(Simulation):
    """Renders without copying the pictures."""

    def draw(self, views: list[dict]) -> tuple[float, float]:
        """CPU and wall time of some views."""
        states = []
        for view in views:
            state = self._hsim.AgentState()
            state.position = np.array(view["position"], np.float32)
            x, y, z, w = view["rotation"]
            state.rotation = np.quaternion(w, x, y, z)
            states.append((self._lenses[view["camera"]][0], state))
        wall, cpu = time.perf_counter(), time.process_time()
        for number, state in states:
            self._sim.get_agent(number).set_state(state)
            self._sim.get_sensor_observations(number)
        return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    asked = json.load(sys.stdin)
    opened = next(request for request in asked if request["do"] == "open_house")
    sizes = [picture_bytes(c["width"], c["height"]) for c in opened["cameras"].values()]
    bare = Bare(mmap.mmap(-1, max(sizes)))
    for request in asked:
        if request["do"] in _LOADS:
            getattr(bare, request["do"])(request)
    views = [request for request in asked if request["do"] == "view"]
    cpu, wall = min(bare.draw(views) for _ in range(ROUNDS))
    print(json.dumps({"cpu_s": cpu / len(views), "wall_s": wall / len(views)}))
    bare.close()


if __name__ == "__main__":
    main()
