"""Files that /world/load must not wait for: what can stop a robot is answered all the while."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_harness import Client, bridge
from crowded_house import crowded_house
from planner_msgs.srv import LoadEpisode
from std_srvs.srv import Trigger


@pytest.fixture(scope="module")
def client(world: Path) -> Iterator[Client]:
    with bridge(episode=world):
        made = Client()
        yield made
        made.close()


@pytest.mark.parametrize("field", ["house", "episode"])
def test_what_is_no_regular_file_is_refused(client: Client, tmp_path: Path, field: str) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for path in ("/dev/zero", str(pipe), str(tmp_path)):
        answer = client.call(LoadEpisode, "/world/load", **{field: path})
        assert not answer.success
        assert answer.message == f"{path}: cannot be read: it is not a regular file"
        assert (answer.house, answer.episode_id) == ("small", "small")


def test_stop_is_answered_while_a_large_world_is_read(client: Client, tmp_path: Path) -> None:
    document = crowded_house(900)
    # Found last, after all ways through the house were searched.
    document["objects"][-1]["parent"] = "nothing_0"
    large = tmp_path / "large.json"
    large.write_text(json.dumps(document))
    load = client.node.create_client(LoadEpisode, "/world/load")
    stop = client.node.create_client(Trigger, "/agent_0/stop")
    client.wait(lambda: load.service_is_ready() and stop.service_is_ready(), "the services")
    loading = load.call_async(LoadEpisode.Request(house=str(large)))
    client.idle(0.3)
    stopping = stop.call_async(Trigger.Request())
    client.wait(stopping.done, "the answer of stop")
    assert stopping.result().success
    assert not loading.done(), "the large world was read first"
    other = load.call_async(LoadEpisode.Request(house="train_0"))
    client.wait(other.done, "the answer of the second load")
    assert other.result().message == "another world is being read; try again"
    client.wait(loading.done, "the answer of the first load")
    assert "names an unknown parent 'nothing_0'" in loading.result().message
    client.node.destroy_client(load)
    client.node.destroy_client(stop)


def test_a_file_that_is_too_large_or_too_deep_is_refused(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "house.json"
    path.write_text("[" * 200_000)
    answer = client.call(LoadEpisode, "/world/load", house=str(path))
    assert "nested too deeply" in answer.message
    path.write_text(json.dumps(crowded_house(1001)))
    answer = client.call(LoadEpisode, "/world/load", house=str(path))
    assert "furniture: has 1001 entries, more than 1000" in answer.message
