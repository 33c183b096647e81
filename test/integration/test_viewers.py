"""The shipped viewer configurations against the nodes: every topic that they name exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from bridge_harness import Client, write_world
from node_processes import Node, ending
from rclpy.qos import DurabilityPolicy
from shown_topics import COMPRESSED, IMAGE, Shown, in_foxglove, in_rviz, panels, placed_panels

from planner.bringup import node_list
from planner.bringup_arguments import Arguments
from planner.ros.conversions import COLOUR_SUFFIX, DEPTH_SUFFIX
from planner.ros.qos import message_class
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.share import config_dir

SHOWN = (*in_rviz(), *in_foxglove())


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    made = Client("viewer")
    yield made
    made.close()


@pytest.fixture(scope="module")
def topics(
    client: Client,
    tmp_path_factory: pytest.TempPathFactory,
    small_house: House,
    small_episode: Episode,
) -> Iterator[Mapping[str, str]]:
    """The types of all topics of a bring-up with a planner, by name."""
    folder: Path = tmp_path_factory.mktemp("world")
    episode = write_world(folder, small_house, small_episode)
    given = {"planner": "expert", "episode": str(episode), "record": str(folder / "run")}
    wanted = {_published(shown.topic)[0] for shown in SHOWN}

    def published() -> dict[str, str]:
        found = client.node.get_topic_names_and_types()
        return {n: t[0] for n, t in found if client.node.count_publishers(n) > 0}

    with ExitStack() as nodes:
        for spec in node_list(Arguments.from_text(given)):
            parameters = {name: value for name, value in spec.parameters.items() if value != ""}
            nodes.enter_context(ending(Node(spec.executable, **parameters)))
        # As long as something new comes: then what is missing does not exist.
        before: dict[str, str] = {}
        while not wanted <= (now := published()).keys():
            client.idle(8.0)
            if published() == now == before:
                break
            before = now
        yield published()


def _published(topic: str) -> tuple[str, bool]:
    """The topic that nodes publish, and whether it is one that recorders compress."""
    for suffix in (DEPTH_SUFFIX, COLOUR_SUFFIX):
        if topic.endswith(suffix):
            return topic.removesuffix(suffix), True
    return topic, False


def test_every_panel_has_its_place() -> None:
    assert sorted(placed_panels()) == sorted(panels())


def test_these_files_are_shipped() -> None:
    # Rerun's shows an export and no topics: test/planner/replay/export/test_rerun_file.py.
    assert {path.name for path in (config_dir() / "viewers").iterdir()} == {
        "planner.rviz",
        "foxglove_layout.json",
        "planner.rbl",
    }


@pytest.mark.slow
@pytest.mark.parametrize("shown", SHOWN, ids=lambda s: f"{s.where}:{s.topic}")
def test_what_is_shown_exists(shown: Shown, topics: Mapping[str, str], client: Client) -> None:
    topic, compressed = _published(shown.topic)
    assert topic in topics
    type_name = topics[topic]
    if compressed:
        assert type_name == IMAGE
        type_name = COMPRESSED
    assert not shown.types or type_name in shown.types
    if shown.field:
        assert shown.field in message_class(type_name).get_fields_and_field_types()
    if shown.latched is not None:
        (offered,) = client.node.get_publishers_info_by_topic(topic)
        kept = offered.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        assert kept == shown.latched
