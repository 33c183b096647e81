"""The emulated robot with Nav2 and MoveIt, in a process of its own, and its ground truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from planner.bad_day.faults import Event, Fault, Schedule
from planner.bad_day.harness import READY_S, Faults, enable, safety_rules
from planner.bad_day.permission import Motion, Sample
from planner.bad_day.schedule import SERVERS
from planner.bad_day.watching.node import Operator, RobotWatcher
from planner.world.errors import PlannerError
from planner.world.house_checks import load_house
from sim_bridge.opening import bare_episode, default_house

# In the passage beside the bedroom, and free floor around it: a client drives for a few seconds.
_START = (4.6, 4.4, 0.0)
_PLACES = ((4.75, 2.6), (2.8, 4.4), (4.75, 6.0), (4.6, 4.4))
# A robot left over by a harness that was killed ends by itself.
_LIFE_S = 240.0
_SHUTDOWN_TIMEOUT_S = 30.0
_TRIES = 8
_BRAKING_S = 0.15
# Between messages that come at 30 Hz. Longer, and the robot's process had no CPU time; beyond the
# greatest nothing is judged.
_GAP_S, _LONGEST_GAP_S = 0.1, 1.0
# The robot stands for a machine of its own.
_NICE = -10


class ServerFaults(Faults):
    """Kills servers of the robot: nobody is forbidden to move by that."""

    def __init__(self, watcher: RobotWatcher) -> None:
        super().__init__()
        self._watcher = watcher

    def inject(self, event: Event) -> bool:
        """Kills a server; False for any other fault."""
        if event.fault is not Fault.SERVER_DEAD:
            return False
        self._watcher.set_server(event.name, runs=False)
        return True

    def clear(self, event: Event) -> None:
        """Starts it again."""
        if event.fault is Fault.SERVER_DEAD:
            self._watcher.set_server(event.name, runs=True)

    def clear_all(self) -> None:
        """Starts all servers again."""
        for name in SERVERS:
            self._watcher.set_server(name, runs=True)


class RosHarness:
    """See `harness.RobotHarness`; the truth is the robot's own odometry and joints."""

    # The process beside the bridge waits for so long, where others stop the robot at once.
    silent_bridge_s = 0.7
    # It folds its arm before it drives.
    goal_timeout_s = 12.0

    def __init__(
        self, schedule: Schedule, folder: Path, rules: Mapping[str, Any], domain: int
    ) -> None:
        self._folder, self._rules, self._seed = folder, rules, schedule.seed
        self.house = load_house(default_house())
        bare = bare_episode(self.house, 1)
        agents = tuple(each.model_copy(update={"start": _START}) for each in bare.agents)
        news = {"agents": agents, "objects": (), "episode_id": "bad_day"}
        self._episode = folder / "episode.json"
        self._episode.write_text(bare.model_copy(update=news).model_dump_json(), "utf-8")
        self.environment: Mapping[str, str] = {}
        self._domain, self._log = domain, folder / "robot.log"
        self._robot: subprocess.Popen[bytes] | None = None
        self._watcher = RobotWatcher(domain, SERVERS)
        self.faults: Faults = ServerFaults(self._watcher)

    def __enter__(self) -> RosHarness:
        words = [sys.executable, "-m", "planner.cli", "robot-emulator"]
        words += ["--episode", str(self._episode), "--seed", str(self._seed)]
        words += ["--seconds", str(_LIFE_S)]
        environment = {**os.environ, "ROS_DOMAIN_ID": str(self._domain)}
        with self._log.open("wb") as log:
            self._robot = subprocess.Popen(
                words, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        with suppress(PermissionError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self._robot.pid, _NICE)
        try:
            until_s = time.monotonic() + READY_S
            while not self._watcher.hears:
                if time.monotonic() > until_s or self._robot.poll() is not None:
                    said = self._log.read_text("utf-8", "replace")[-300:]
                    raise PlannerError(f"the robot did not start in time: {said}")
                time.sleep(0.1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.stand_still()
        self._watcher.close()

    @property
    def truth_delay_s(self) -> float:
        """With the limit that is the same for all robots, 1.0 s, and what this machine was late.

        Between two messages of odometry nobody knows when the robot moved.
        """
        return _BRAKING_S + max(0.0, self._watcher.longest_gap_s - _GAP_S)

    @property
    def places(self) -> list[tuple[float, float]]:
        """Free floor around its start."""
        return list(_PLACES)

    def arguments(self) -> dict[str, str]:
        """The bridge's arguments."""
        safety = self._folder / "safety.json"
        safety.write_text(json.dumps(safety_rules(self._rules)), "utf-8")
        return {"backend": "ros", "episode": str(self._episode), "safety_config": str(safety)}

    def make_ready(self, operator: Operator) -> None:
        """Claims it, powers it on and makes it stand, once the bridge has found its servers.

        Raises:
            PlannerError: if one of these fails.
        """
        enable(operator, lambda _refused: time.sleep(0.5), _TRIES)

    def stand_still(self) -> None:
        """Ends the robot's process."""
        if self._robot is not None and self._robot.poll() is None:
            self._robot.terminate()
            try:
                self._robot.wait(_SHUTDOWN_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._robot.kill()
                self._robot.wait()

    def moving(self) -> list[Motion]:
        """Every time between two of its messages in which base or joints moved.

        Raises:
            PlannerError: if it was not heard for so long that motion may have been missed.
        """
        if self._watcher.longest_gap_s > _LONGEST_GAP_S:
            raise PlannerError(f"no odometry for {self._watcher.longest_gap_s:.1f} s")
        return sorted(self._watcher.moving, key=lambda each: each.begins_s)

    def samples(self) -> Sequence[Sample]:
        """None: the emulated base cannot exceed the limit."""
        return []

    def goal_holds(self) -> bool:
        """False: it has no task."""
        return False

    def programs(self) -> list[tuple[str, int | None, str]]:
        """The robot."""
        status = None if self._robot is None else self._robot.poll()
        return [("robot", status, self._log.read_text("utf-8", "replace"))]
