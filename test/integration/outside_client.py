"""A client from elsewhere, that would move a robot: run in a network namespace of its own.

Arguments: how long it looks, seconds. It shows a token if the environment has one. Prints
what it found as one JSON object.
"""

import json
import os
import sys
import time
from typing import Any

import rclpy
from planner_msgs.action import ExecutePrimitive
from rclpy.action import ActionClient
from rclpy.client import Client
from std_srvs.srv import Trigger

from planner.network import TOKEN
from planner.ros.clients import prove

rclpy.init()
node = rclpy.create_node("stranger")
if os.environ.get(TOKEN):
    prove(node)
claim = node.create_client(Trigger, "/agent_0/claim")
deadline = time.monotonic() + float(sys.argv[1])


def others() -> list[str]:
    return sorted(set(node.get_node_names()) - {"stranger"})


while time.monotonic() < deadline and not (claim.service_is_ready() and others()):
    rclpy.spin_once(node, timeout_sec=0.1)


def said_to(client: Client[Any, Any], request: object) -> str:
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=30.0)
    return future.result().message if future.done() else "no answer"


def ended(goal: ExecutePrimitive.Goal) -> str:
    action = ActionClient(node, ExecutePrimitive, "/agent_0/primitive")
    action.wait_for_server(30.0)
    sent = action.send_goal_async(goal)
    rclpy.spin_until_future_complete(node, sent, timeout_sec=30.0)
    if not sent.done():
        return "no answer"
    result = sent.result().get_result_async()
    rclpy.spin_until_future_complete(node, result, timeout_sec=30.0)
    return result.result().result.text if result.done() else "no result"


answer = stopped = goal = ""
if claim.service_is_ready():
    answer = said_to(claim, Trigger.Request())
    stopped = said_to(node.create_client(Trigger, "/agent_0/stop"), Trigger.Request())
    goal = ended(ExecutePrimitive.Goal(name="look", pan_rad=[0.5], tilt_rad=[0.0]))
found = {"nodes": others(), "answered": bool(answer), "said": answer, "stop": stopped, "goal": goal}
print(json.dumps(found), flush=True)
