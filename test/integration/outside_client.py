"""A client from elsewhere, that would claim a robot: run in a network namespace of its own.

Arguments: how long it looks, seconds. Prints what it found as one JSON object.
"""

import json
import sys
import time

import rclpy
from std_srvs.srv import Trigger

rclpy.init()
node = rclpy.create_node("stranger")
claim = node.create_client(Trigger, "/agent_0/claim")
deadline = time.monotonic() + float(sys.argv[1])


def others() -> list[str]:
    return sorted(set(node.get_node_names()) - {"stranger"})


while time.monotonic() < deadline and not (claim.service_is_ready() and others()):
    rclpy.spin_once(node, timeout_sec=0.1)
answer = ""
if claim.service_is_ready():
    future = claim.call_async(Trigger.Request())
    rclpy.spin_until_future_complete(node, future, timeout_sec=30.0)
    answer = future.result().message if future.done() else "no answer"
print(json.dumps({"nodes": others(), "answered": bool(answer), "said": answer}), flush=True)
