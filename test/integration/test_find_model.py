"""The skill executor's Find tools with a language model at a server."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

from bridge_harness import Client, bridge, write_world
from model_server import Handler, Server, says
from node_processes import running
from planner_msgs.action import ExecuteSkill
from planner_msgs.msg import PlannerTrace
from rclpy.action import ActionClient

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import SkillCode


def reply(handler: Handler, body: dict[str, Any]) -> None:
    """One of the rooms, or none of them; the client also asks what the server can do."""
    cooks = "where somebody cooks" in body["messages"][-1]["content"]
    says("- kitchen_0" if cooks else "- attic_0")(handler, body)


def test_the_node_asks_the_model_and_publishes_the_call(
    tmp_path: Path, small_house: House, small_episode: Episode, client: Client
) -> None:
    server = Server()
    Thread(target=server.serve_forever, daemon=True).start()
    server.answers = [reply]
    traces = client.listen(PlannerTrace, "/skills/trace", 100)
    path = write_world(tmp_path, small_house, small_episode)
    model = {"find_model": "tiny", "find_model_url": server.url}
    with (
        bridge(episode=path),
        running("memory", episode=path),
        running("skill_executor", episode=path, use_sim_time=True, **model),
    ):
        skill = ActionClient(client.node, ExecuteSkill, "/agent_0/skill")
        client.wait(skill.server_is_ready, "the skills")

        def call(words: str) -> ExecuteSkill.Result:
            sent = skill.send_goal_async(ExecuteSkill.Goal(call=words))
            client.wait(sent.done, "acceptance")
            asked = sent.result().get_result_async()
            client.wait(asked.done, "the answer")
            return asked.result().result

        found = call("FindRoomTool[where somebody cooks]")
        assert (found.code, found.text) == (SkillCode.SUCCESS, "- kitchen_0")
        wrong = call("FindRoomTool[where old things are]")
        assert wrong.code == SkillCode.BACKEND_FAULT
        assert "'attic_0' is not one of the possible items" in wrong.text
        client.wait(lambda: len(traces) == 2, "both calls of the model")
    server.shutdown()
    server.server_close()
    assert [(t.planner, t.role, t.reply) for t in traces] == [
        ("find_tools", "memory", "- kitchen_0"),
        ("find_tools", "memory", "- attic_0"),
    ]
    assert [bool(t.error) for t in traces] == [False, True]
