"""A client of an agent's stop: calls it for each line of input, prints the seconds it took."""

from __future__ import annotations

import sys
import time

import rclpy
from std_srvs.srv import Trigger


def main() -> None:
    """Prints `ready`, then one line per call."""
    rclpy.init()
    node = rclpy.create_node("stop_client")
    client = node.create_client(Trigger, f"/{sys.argv[1]}/stop")
    client.wait_for_service()
    print("ready", flush=True)
    for _ in sys.stdin:
        asked_s = time.perf_counter()
        answer = client.call_async(Trigger.Request())
        rclpy.spin_until_future_complete(node, answer)
        told = answer.result()
        print(time.perf_counter() - asked_s if told.success else told.message, flush=True)


if __name__ == "__main__":
    main()
