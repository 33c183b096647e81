"""How a node's process ends, and what does not end it."""

from __future__ import annotations

import subprocess
import sys

import pytest

NODE = """
import sys
import rclpy
from planner.ros.guard import essential
from planner.ros.lifecycle import run_node
from planner.world.errors import PlannerError
from planner_msgs.action import FollowInstruction
from rclpy.action import ActionClient
from rclpy.node import Node

class Busy(Node):
    def __init__(self):
        super().__init__("busy")
        self.create_timer(0.05, {timer})
        self.create_timer(2.5, rclpy.try_shutdown)

    def work(self):
        if {stopped}:
            rclpy.try_shutdown()
        {work}

sys.exit(run_node(Busy, ["busy"]))
"""
CLIENT = 'ActionClient(self, FollowInstruction, "/instruct")'
DEFECT = 'raise ValueError("a defect")'
GIVES_UP = 'raise PlannerError("nobody is there")'
ORDINARY, ESSENTIAL = "self.work", "essential(self.work)"


def run(**parts: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", NODE.format(**parts)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("timer", [ORDINARY, ESSENTIAL])
@pytest.mark.parametrize("work", [CLIENT, DEFECT])
def test_what_a_shutdown_causes_is_a_clean_end(work: str, timer: str) -> None:
    """The signal handler shuts ROS down at any moment, also before an action client is made."""
    ended = run(stopped=True, work=work, timer=timer)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("work", [DEFECT, GIVES_UP])
def test_a_callback_that_fails_again_and_again_is_reported_once_and_ends_nothing(work: str) -> None:
    ended = run(stopped=False, work=work, timer=ORDINARY)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("Traceback") == 1
    assert "a timer failed, the node goes on" in ended.stderr


def test_a_defect_of_an_essential_callback_ends_the_node_with_its_traceback() -> None:
    ended = run(stopped=False, work=DEFECT, timer=ESSENTIAL)
    assert ended.returncode == 1
    assert ended.stderr.rstrip().endswith("ValueError: a defect")


def test_an_essential_callback_that_gives_up_ends_the_node_in_one_line() -> None:
    ended = run(stopped=False, work=GIVES_UP, timer=ESSENTIAL)
    assert (ended.returncode, ended.stderr) == (1, "error: nobody is there\n")


SIGNALLED = """
import os, signal
import rclpy
from rclpy.node import Node
from planner.ros.guard import GuardedExecutor
from planner.ros.lifecycle import run_node

def threads():
    return set(os.listdir("/proc/self/task"))

class Ends(Node):
    def __init__(self):
        super().__init__("ends")
        self.create_timer(0.1, lambda: os.kill(os.getpid(), signal.{signal}))

class Counting(GuardedExecutor):
    def shutdown(self, timeout_sec=None):
        print(len(BEGUN), len(BEGUN & threads()))
        return super().shutdown(timeout_sec)

def begin(**options):
    before = threads()
    INIT(**options)
    BEGUN.update(threads() - before)

BEGUN, INIT, rclpy.init = set(), rclpy.init, begin
print(run_node(Ends, ["ends"], make_executor=Counting))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_the_thread_that_follows_a_signal_has_ended_before_the_executor_does(name: str) -> None:
    """It goes through a list of guard conditions, which the end of an executor frees."""
    ran = subprocess.run(
        [sys.executable, "-c", SIGNALLED.format(signal=name)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    begun, left, status = map(int, ran.stdout.split())
    assert (left, status) == (begun - 1, 0)


ALLOCATES = """
import ctypes, threading
from rclpy.node import Node
from planner.ros import lifecycle

def heaps():
    libc = ctypes.CDLL(None)
    libc.open_memstream.restype = ctypes.c_void_p
    text, size = ctypes.c_char_p(), ctypes.c_size_t()
    stream = ctypes.c_void_p(libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    return text.value.count(b"<heap nr=")

def fill(barrier):
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    kept = [libc.malloc(ctypes.c_size_t(1000)) for _ in range(100)]
    barrier.wait()

class Busy(Node):
    def __init__(self):
        super().__init__("busy")
        barrier = threading.Barrier(9)
        threads = [threading.Thread(target=fill, args=(barrier,)) for _ in range(8)]
        for each in threads:
            each.start()
        barrier.wait()
        print(heaps() - BEFORE)
        raise SystemExit

# Libraries have made some as they were loaded.
BEFORE = heaps()
lifecycle.run_node(Busy, ["busy"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the heaps are glibc's")
def test_threads_of_a_node_make_no_heaps_of_their_own() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", ALLOCATES], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout.strip() == "0", ran.stderr
