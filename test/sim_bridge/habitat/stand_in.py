"""A stand-in for habitat-sim: speaks the worker's protocol in an empty world without walls.

It draws grey, its rays meet nothing and its floor is all one; only `hits`, and with the order
"meshes" `rays`, ask the meshes of furniture and things in the dataset, with what opens closed or
wide open. What it is to do, or to do wrong, stands in the file that STAND_IN_ORDERS names: JSON of
requests and one of abort, hang, slow, refuse, garbage, moved, meshes, old.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(Path(__file__).resolve().parent / "dataset"))


from sim_bridge.habitat.worker import REQUESTS, Message, Pictures, main


class StandIn:
    """As `worker.Simulation`."""

    def __init__(self, memory: mmap.mmap) -> None:
        if "absent" in _orders().values():
            raise ImportError("No module named 'habitat_sim'")
        self._memory = memory
        self._meshes: Any = None
        self._cameras: dict[str, Any] = {}

    def __getattribute__(self, name: str) -> Any:
        if name in REQUESTS:
            _obey(name)
        return super().__getattribute__(name)

    def hello(self, _request: Message) -> Message:
        order = _orders().get("hello")
        version = "0.3.2" if order == "old" else "stand-in"
        return {"version": version, "bullet": order != "no bullet"}

    def open_house(self, request: Message) -> Message:
        self._cameras = request["cameras"]
        # The meshes are read where somebody asks for them.
        self._meshes = None
        self._told: list[Message] = []
        self._house = request
        lost = list(request["ids"])[:1] if _orders().get("open_house") == "moved" else []
        return {"missing": lost, "device": -1}

    def add(self, request: Message) -> Message:
        self._told = [request]
        self._meshes = None
        return {}

    def put(self, request: Message) -> Message:
        away = 1.0 if _orders().get("put") == "moved" else 0.0
        self._told.append(request)
        if self._meshes is not None:
            self._meshes.put(request)
        poses = {n: [at[0] + away, *at[1:]] for n, at in request["poses"].items()}
        return {"poses": poses, "joints": request["joints"]}

    def view(self, request: Message) -> Message:
        lens = self._cameras[request["camera"]]
        pictures = Pictures(self._memory, lens["width"], lens["height"])
        pictures.rgb[:] = 128
        pictures.depth[:] = 2.0
        pictures.ids[:] = 1
        return {}

    def rays(self, request: Message) -> Message:
        if _orders().get("rays") != "meshes":
            return {"hits": [None for _ in request["rays"]]}
        meshes, far_m = self._now(), request["far_m"]
        return {"hits": [meshes.first(*ray, request["through"], far_m) for ray in request["rays"]]}

    def hits(self, request: Message) -> Message:
        if _orders().get("hits") == "empty":
            return {"hits": [[] for _ in request["rays"]]}
        meshes = self._now()
        return {"hits": [meshes.hits(*ray, request["far_m"]) for ray in request["rays"]]}

    def _now(self) -> Any:
        if self._meshes is None:
            self._meshes = _meshes(self._house, self._told)
        return self._meshes

    def mesh(self, _request: Message) -> Message:
        return {}

    def navigable(self, request: Message) -> Message:
        return {"islands": [0 for _ in request["points"]]}

    def path(self, request: Message) -> Message:
        start, end = request["start"], request["end"]
        return {"points": [start, end], "length_m": math.dist(start, end)}

    def step(self, request: Message) -> Message:
        return {"point": request["end"], "off_m": 0.0}

    def close(self) -> None:
        pass


def _meshes(house: Message, told: list[Message]) -> Any:
    """The dataset's meshes after what was asked since the things were added."""
    sys.path.insert(0, str(Path(__file__).resolve().parent / "dataset"))
    from dataset_meshes import DatasetMeshes

    made = DatasetMeshes(house)
    made.add(told[0]["things"])
    for request in told[1:]:
        made.put(request)
    return made


def _orders() -> dict[str, str]:
    path = Path(os.environ.get("STAND_IN_ORDERS", ""))
    orders: dict[str, str] = json.loads(path.read_text()) if path.is_file() else {}
    return orders


def _obey(request: str) -> None:
    order = _orders().get(request)
    if order == "abort":
        print("unable to find CUDA device 0 among 1 EGL devices", file=sys.stderr, flush=True)
        os.abort()
    if order == "hang":
        time.sleep(600)
    if order == "slow":
        time.sleep(1.0)
    if order == "refuse":
        raise RuntimeError("it refuses")
    if order == "garbage":
        os.write(int(sys.argv[1]), b"\xff\xff\xff\xff")


if __name__ == "__main__":
    main(StandIn)
