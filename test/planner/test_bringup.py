import re
from dataclasses import replace
from pathlib import Path

import pytest
from made_policy import homing_policy

from planner.bringup import node_list, restarted
from planner.bringup_arguments import ARGUMENTS, ArgumentError, Arguments, option_arguments
from planner.memory.memory import UPDATE_PERIOD_S
from planner.skills.kind import SKILL_KIND_OPTIONS
from sim_bridge.backend import BACKENDS

OF_SKILLS = [
    argument
    for argument in ARGUMENTS
    if argument.name in {option.name for option in SKILL_KIND_OPTIONS}
]


def test_defaults_of_both_forms_agree() -> None:
    assert Arguments.from_text({}) == Arguments()


def test_every_argument_is_a_field_and_explained() -> None:
    assert [argument.name for argument in ARGUMENTS if argument not in OF_SKILLS] == [
        name for name in Arguments.__dataclass_fields__ if not name.endswith("_options")
    ]
    assert all(argument.description for argument in ARGUMENTS)


def test_the_bridge_gets_what_was_asked_for() -> None:
    args = Arguments.from_text(
        {
            "house": "cottage",
            "episode": "e1",
            "seed": "7",
            "agents": "2",
            "paced": "false",
            "cameras": "hand",
            "camera_hz": "4",
        }
    )
    bridge, *_ = node_list(args)
    assert (bridge.name, bridge.executable, bridge.respawn) == ("bridge", "bridge", True)
    assert bridge.parameters == {
        "backend": "embedded",
        "house": "cottage",
        "episode": "e1",
        "seed": 7,
        "agents": 2,
        "time_mode": "fast",
        "rate": 1.0,
        "cameras": "hand",
        "camera_hz": 4.0,
    }


@pytest.mark.parametrize("rate", ["0", "31", "fast"])
def test_a_camera_cannot_be_slower_or_faster_than_the_bridge_takes_pictures(rate: str) -> None:
    with pytest.raises(ArgumentError, match="camera_hz"):
        Arguments.from_text({"camera_hz": rate})


def test_the_tour_ends_the_run() -> None:
    bridge, tour = node_list(Arguments.from_text({"planner": "tour", "record": "out/tour"}))
    assert bridge.name == "bridge"
    assert tour.ends_run
    assert not tour.respawn
    assert tour.parameters == {"house": "", "record": "out/tour", "use_sim_time": True}


def test_a_memory_runs_where_it_is_asked_for_and_keeps_its_store_with_the_recording() -> None:
    given = {"memory": "privileged", "episode": "e1", "record": "out"}
    nodes = {node.name: node for node in node_list(Arguments.from_text(given))}
    assert nodes["memory"].respawn
    assert nodes["memory"].parameters == {
        "updater": "privileged",
        "house": "",
        "episode": "e1",
        "store": "out/memory",
        "start_after": "evaluation",
        "use_sim_time": True,
    }
    assert "memory" not in {node.name for node in node_list(Arguments.from_text({}))}


def test_a_memory_that_needs_pictures_is_refused_where_there_are_none() -> None:
    assert Arguments.from_text({"memory": "privileged", "backend": "graph"}).backend == "graph"
    with pytest.raises(
        ArgumentError, match=r"^argument memory: learned needs pictures, .* use priv"
    ):
        Arguments.from_text({"memory": "learned", "backend": "graph"})


def test_a_map_of_their_own_is_told_to_all_who_use_one() -> None:
    given = {"planner": "expert", "map": "built", "episode": "e1", "narrate": "true"}
    nodes = {spec.name: spec for spec in node_list(Arguments.from_text(given))}
    assert {name for name, spec in nodes.items() if spec.parameters.get("map") == "built"} == {
        "memory",
        "skill_executor",
        "task_planner",
        "narrator",
    }
    assert all("map" not in spec.parameters for spec in node_list(Arguments(planner="expert")))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"map": "built"}, "needs a memory"),
        ({"map": "built", "planner": "expert", "memory": "none"}, "needs a memory"),
        ({"map": "built", "planner": "expert", "backend": "graph"}, "has none"),
        ({"map": "drawn"}, "not one of given, built"),
    ],
)
def test_a_map_that_cannot_be_built_is_refused(given: dict[str, str], reason: str) -> None:
    with pytest.raises(ArgumentError, match=f"argument map: .*{reason}"):
        Arguments.from_text(given)


def test_managed_nodes_start_one_after_another_and_again_without_waiting() -> None:
    args = Arguments.from_text({"planner": "expert", "episode": "e1", "narrate": "true"})
    nodes = node_list(args)
    assert [(node.name, node.parameters.get("start_after")) for node in nodes] == [
        ("bridge", None),
        ("evaluator", "world/info"),
        ("memory", "evaluation"),
        ("skill_executor", "world_graph"),
        ("task_planner", "skills/results"),
        ("narrator", None),
    ]
    for node in nodes:
        again = restarted(node)
        assert "start_after" not in again.parameters
        assert again == replace(node, parameters=again.parameters)


def test_the_order_skips_nodes_that_are_not_there() -> None:
    args = Arguments.from_text({"planner": "expert", "backend": "external"})
    (memory,) = (node for node in node_list(args) if node.name == "memory")
    assert memory.parameters["start_after"] == "world/info"


def recorder_of(**given: str) -> dict[str, object]:
    nodes = node_list(Arguments.from_text({"record": "out", **given}))
    (recorder,) = [node for node in nodes if node.name == "recorder"]
    return {name: value for name, value in recorder.parameters.items() if name != "folder"}


def test_what_a_bag_costs_is_chosen_by_arguments() -> None:
    usual = recorder_of()
    assert (usual["image_hz"], usual["changed_views"]) == (pytest.approx(1 / UPDATE_PERIOD_S), True)
    assert recorder_of(record_image_hz="0")["image_hz"] == 0.0
    chosen = recorder_of(record_images="none", record_image_hz="2.5", record_exclude="/tf|/clock")
    limits = {"max_bag_mb": 1000, "max_bag_s": 600, "max_total_mb": 20_000}
    assert chosen == {"images": "none", "image_hz": 2.5, "exclude": "/tf|/clock", **limits}
    full = recorder_of(record_full="true", record_images="none")
    assert full == {"images": "raw", "image_hz": 0.0, "exclude": "", **limits}
    small = recorder_of(record_max_bag_mb="10", record_max_bag_s="0", record_max_total_mb="30")
    assert {name: small[name] for name in limits} == {
        "max_bag_mb": 10,
        "max_bag_s": 0,
        "max_total_mb": 30,
    }


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("record_exclude", "(", "is not a regular expression"),
        ("record_image_hz", "often", "is not a number"),
        ("record_max_bag_mb", "1.5", "is not a whole number"),
        ("record_images", "gif", "is not one of compressed, raw, none"),
    ],
)
def test_a_wrong_wish_for_the_bag_is_refused(name: str, value: str, reason: str) -> None:
    with pytest.raises(ArgumentError, match=rf"argument {name}: .*{reason}"):
        Arguments.from_text({name: value})


def test_a_memory_without_a_recording_has_a_store_of_this_run() -> None:
    args = Arguments.from_text({"memory": "privileged"})
    first, again = (node_list(args)[1].parameters["store"] for _ in range(2))
    assert first == again


def test_only_nodes_that_the_robots_do_not_need_are_passive() -> None:
    given = {"episode": "e1", "planner": "expert", "record": "/tmp/run", "console": "true"}
    specs = node_list(Arguments.from_text({**given, "narrate": "true", "voice": "true"}))
    passive = {"recorder", "evaluator", "console", "narrator", "ear", "mouth"}
    assert {spec.name for spec in specs if spec.passive} == passive
    assert {"bridge", "memory", "skill_executor", "task_planner"} <= {spec.name for spec in specs}


def test_whoever_knows_the_true_world_has_a_judge() -> None:
    nodes = {node.name: node for node in node_list(Arguments.from_text({"episode": "e1"}))}
    assert nodes["evaluator"].respawn
    assert nodes["evaluator"].parameters["episode"] == "e1"
    for given in ({"backend": "ros"}, {"planner": "tour"}):
        assert "evaluator" not in {n.name for n in node_list(Arguments.from_text(given))}


@pytest.mark.needs("sim_bridge/spot")
def test_what_a_real_robot_believes_is_judged_once_a_task_is_named() -> None:
    given = Arguments.from_text({"backend": "spot", "episode": "e1"})
    (judge,) = (node for node in node_list(given) if node.name == "evaluator")
    assert (judge.parameters["world"], judge.parameters["episode"]) == ("perceived", "e1")


def test_a_machine_starts_its_own_share_of_the_nodes() -> None:
    given = {"planner": "expert", "house": "cottage", "record": "out"}
    robot = node_list(Arguments.from_text({**given, "nodes": "bridge, recorder,skill_executor"}))
    desk = node_list(Arguments.from_text({**given, "nodes": "memory,evaluator,task_planner"}))
    whole = node_list(Arguments.from_text(given))
    assert [spec.name for spec in robot] == ["recorder", "bridge", "skill_executor"]
    assert {spec.name: spec for spec in (*robot, *desk)} == {spec.name: spec for spec in whole}


def test_a_share_that_the_other_arguments_do_not_ask_for_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match=r"'memry' is none of .* did you mean 'memory'"
    ) as refused:
        node_list(Arguments.from_text({"planner": "expert", "nodes": "bridge,memry"}))
    assert refused.value.name == "nodes"
    with pytest.raises(ArgumentError, match="'recorder' is none of"):
        node_list(Arguments.from_text({"planner": "expert", "nodes": "recorder"}))


def test_a_recording_and_its_story_are_nodes_of_their_own() -> None:
    given = {"record": "out", "narrate": "true", "episode": "e1"}
    nodes = {node.name: node for node in node_list(Arguments.from_text(given))}
    assert nodes["recorder"].parameters == {
        "folder": "out/bag",
        "images": "compressed",
        "image_hz": 3.0,
        "changed_views": True,
        "picture_mb_per_minute": 30.0,
        "max_bag_mb": 1000,
        "max_bag_s": 600,
        "max_total_mb": 20_000,
        "exclude": r".*/body/(image|camera_info)|.*/voice/(audio|sound)",
    }
    assert nodes["recorder"].stops_last
    assert nodes["narrator"].ends_run
    assert nodes["narrator"].parameters["bag"] == "out/bag"
    assert "attended" not in nodes["narrator"].parameters


def test_an_instruction_is_reported_in_a_house() -> None:
    given = {"narrate": "true", "instruction": "Tidy up.", "house": "train_0", "record": "out"}
    given["answers"] = "the kitchen;both"
    nodes = {node.name: node for node in node_list(Arguments.from_text(given))}
    told = nodes["narrator"].parameters
    assert told["answers"] == "the kitchen;both"
    assert (told["instruction"], told["house"], told["episode"]) == ("Tidy up.", "train_0", "")


@pytest.mark.needs("sim_bridge/spot")
def test_a_real_robots_task_waits_for_its_operator() -> None:
    arguments = Arguments.from_text({"backend": "spot", "narrate": "true", "episode": "e1"})
    (narrator,) = (node for node in node_list(arguments) if node.name == "narrator")
    assert narrator.parameters["attended"] is True


@pytest.mark.parametrize(
    ("given", "name", "message"),
    [
        ({"beckend": "embedded"}, "beckend", "unknown; there are backend, planner"),
        (
            {"backend": "unity"},
            "backend",
            (f"'unity' is not one of {', '.join(BACKENDS.names())}"),
        ),
        ({"seed": "-1"}, "seed", "'-1' is not a whole number of 0 or greater"),
        ({"seed": "1_0"}, "seed", "'1_0' is not a whole number"),
        ({"seed": ""}, "seed", "'' is not a whole number"),
        ({"seed": str(2**63)}, "seed", "is greater than"),
        ({"agents": "7"}, "agents", "7 is greater than 6"),
        ({"pace": "quick"}, "pace", "'quick' is not a number"),
        ({"pace": "0"}, "pace", "0 is not between 0.1 and 10"),
        ({"pace": "nan"}, "pace", "nan is not between"),
        ({"paced": "True"}, "paced", "'True' is not one of true, false"),
        ({"narrate": "true"}, "narrate", "needs an episode, or an instruction"),
        ({"instruction": "Tidy up."}, "instruction", "planner instruct"),
    ],
)
def test_a_wrong_argument_is_named(given: dict[str, str], name: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=f"argument {name}: ") as caught:
        Arguments.from_text(given)
    assert caught.value.name == name
    assert message in str(caught.value)


def test_a_memory_that_sees_is_told_what_it_looks_with() -> None:
    given = {"memory": "vlm", "memory_model": "tiny", "memory_url": "http://h/v1", "house": "h"}
    nodes = {node.name: node for node in node_list(Arguments.from_text(given))}
    parameters = nodes["memory"].parameters
    assert (parameters["updater"], parameters["model"]) == ("vlm", "tiny")
    assert parameters["model_url"] == "http://h/v1"
    assert "model_second" not in parameters


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"memory": "vlm"}, "memory_model"),
        ({"memory": "open-vocabulary"}, "memory_model"),
        ({"memory": "learned", "memory_url": "http://h/v1"}, "memory_url"),
        ({"memory": "clairvoyant"}, "memory"),
    ],
)
def test_a_memory_that_lacks_its_model_is_refused(given: dict[str, str], name: str) -> None:
    with pytest.raises(ArgumentError, match=name):
        Arguments.from_text(given)


@pytest.mark.parametrize(
    ("backend", "simulated"), [("embedded", True), ("ros", False), ("external", False)]
)
def test_only_simulators_have_a_time_of_their_own(backend: str, simulated: bool) -> None:
    arguments = Arguments.from_text({"backend": backend, "planner": "expert"})
    (skills,) = [node for node in node_list(arguments) if node.name == "skill_executor"]
    assert skills.parameters["use_sim_time"] is simulated


def test_options_of_the_planner_reach_its_node_and_those_of_others_are_unknown() -> None:
    given = {"planner": "learned", "learned_model": "net"}
    (node,) = (n for n in node_list(Arguments.from_text(given)) if n.name == "task_planner")
    assert node.parameters["learned_model"] == "net"
    assert "whole_list" not in node.parameters
    assert "learned_model" in {argument.name for argument in option_arguments()}
    with pytest.raises(ArgumentError, match="learned_model: unknown"):
        Arguments.from_text({"planner": "expert", "learned_model": "net"})


def test_who_moves_bodies_reaches_the_skills_and_is_noted_by_the_planner(tmp_path: Path) -> None:
    given = {"planner": "expert", "skill_kind": "noisy", "skill_noise": "2", "skill_body": ""}
    nodes = {node.name: node.parameters for node in node_list(Arguments.from_text(given))}
    told = {name: value for name, value in nodes["skill_executor"].items() if "skill_" in name}
    assert told == {"skill_kind": "noisy", "skill_noise": 2.0, "skill_body": ""}
    assert nodes["task_planner"]["skill_kind"] == "noisy"
    assert "skill_noise" not in nodes["task_planner"]
    policy = str(homing_policy(tmp_path / "p.safetensors"))
    learned = {"planner": "expert", "skill_kind": "learned", "skill_policy": policy}
    (skills,) = (n for n in node_list(Arguments.from_text(learned)) if n.name == "skill_executor")
    assert skills.parameters["skill_policy"] == policy
    usual = {node.name: node.parameters for node in node_list(Arguments(planner="expert"))}
    assert not [name for name in usual["skill_executor"] if name.startswith("skill_")]


@pytest.mark.parametrize(
    ("given", "name", "reason"),
    [
        ({"skill_kind": "perfect"}, "skill_kind", "'perfect' is not one of oracle, noisy, learned"),
        ({"skill_noise": "11"}, "skill_noise", "11.0 is greater than 10"),
        ({"skill_seed": "one"}, "skill_seed", "expected a whole number, got 'one'"),
        ({"skill_policy": "p"}, "skill_policy", "is of skill_kind learned, not of oracle"),
        (
            {"skill_kind": "learned", "skill_policy": "/no/such"},
            "skill_policy",
            "/no/such: cannot be read",
        ),
        (
            {"skill_kind": "learned", "skill_hand_policy": "/none"},
            "skill_hand_policy",
            "/none: cannot be read",
        ),
        ({"skill_kind": "noisy", "planner": "tour"}, "skill_kind", "planner:=tour runs no skills"),
    ],
)
def test_who_cannot_move_bodies_is_refused(given: dict[str, str], name: str, reason: str) -> None:
    with pytest.raises(ArgumentError, match=f"argument {name}: ") as caught:
        Arguments.from_text({"planner": "expert", **given})
    assert reason in str(caught.value)


def test_the_options_of_the_chosen_model_reach_the_task_planner() -> None:
    given = {"planner": "react", "model": "local:/m", "temperature": "0.5", "device": "cuda"}
    (node,) = [n for n in node_list(Arguments.from_text(given)) if n.name == "task_planner"]
    assert node.parameters["model"] == "local:/m"
    assert (node.parameters["temperature"], node.parameters["device"]) == (0.5, "cuda")
    with pytest.raises(ArgumentError, match="temperature"):
        Arguments.from_text({**given, "model": "scripted:/replies.txt"})


def test_a_namespace_a_parameter_file_and_a_log_level_are_every_nodes(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("/**:\n  ros__parameters: {camera_hz: 5.0}\n")
    given = {"namespace": "house/left", "params_file": str(file), "log_level": "warn"}
    given |= {"planner": "expert", "episode": "e1", "narrate": "true", "record": "out"}
    nodes = node_list(Arguments.from_text(given))
    assert [n.name for n in nodes][:2] == ["recorder", "bridge"]
    assert {n.namespace for n in nodes} == {"/house/left"}
    assert {n.params_file for n in nodes} == {str(file)}
    assert {n.log_level for n in nodes} == {"warn"}
    own_frames = [n.name for n in nodes if ("/tf", "tf") in n.remappings]
    # The recorder takes topics by their names in the graph.
    assert own_frames == [n.name for n in nodes if n.name != "recorder"]


def test_simulated_time_is_of_all_nodes_above_the_bridge() -> None:
    def who(**given: str) -> dict[str, object]:
        nodes = node_list(Arguments.from_text({"planner": "expert", "episode": "e", **given}))
        return {
            n.name: n.parameters["use_sim_time"] for n in nodes if "use_sim_time" in n.parameters
        }

    above = ["memory", "skill_executor", "evaluator", "task_planner"]
    assert who() == dict.fromkeys(above, True)
    assert who(paced="false") == dict.fromkeys(above, False) | {"skill_executor": True}
    assert who(backend="ros") == dict.fromkeys(above, False)
    assert who(use_sim_time="true") == dict.fromkeys(above, True)
    assert who(use_sim_time="false") == dict.fromkeys(above, False)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (
            "namespace",
            "left-arm",
            "expected a ROS namespace such as left or /house/left, got 'left-arm'",
        ),
        ("log_level", "loud", "'loud' is not one of debug, info"),
        ("use_sim_time", "yes", "'yes' is not one of auto, true, false"),
        ("params_file", "nowhere.yaml", "cannot be read: "),
    ],
)
def test_a_wrong_argument_is_reported_by_its_name(name: str, value: str, reason: str) -> None:
    with pytest.raises(ArgumentError) as told:
        Arguments.from_text({name: value})
    assert str(told.value).startswith(f"argument {name}: ")
    assert reason in str(told.value)


def test_simulated_time_needs_somebody_who_publishes_it() -> None:
    with pytest.raises(ArgumentError, match="nobody publishes /clock with backend:=ros"):
        Arguments.from_text({"backend": "ros", "use_sim_time": "true"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [", "is not well formed"),
        ("rate: 2.0", "expected nodes, or /"),
        ("", "expected nodes, or /"),
        ("bridge:\n  rate: 2.0", "each with ros__parameters"),
    ],
)
def test_a_file_that_holds_no_parameters_is_reported(
    tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(ArgumentError, match=reason):
        Arguments.from_text({"params_file": str(tmp_path / "p.yaml")})


def test_ear_and_mouth_get_what_is_theirs() -> None:
    given = {"voice": "true", "mouth_voice": "en+f3", "voice_listen": "always"}
    server = {"ear": "server", "voice_url": "http://127.0.0.1:9/v1", "ear_model": "tiny"}
    nodes = {node.name: node for node in node_list(Arguments.from_text({**given, **server}))}
    assert nodes["ear"].parameters == {
        "ear": "server",
        "listen": "always",
        "confirm": "auto",
        "url": "http://127.0.0.1:9/v1",
        "ear_model": "tiny",
        "use_sim_time": False,
    }
    # An address is only for who asks a server.
    assert nodes["mouth"].parameters == {
        "mouth": "espeak",
        "mouth_voice": "en+f3",
        "use_sim_time": False,
    }
    assert "ear" not in {node.name for node in node_list(Arguments.from_text({}))}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"ear": "server"}, "voice_url: ear:=server needs one, .../v1"),
        ({"mouth": "server"}, "voice_url: mouth:=server needs one, .../v1"),
        ({"voice_url": "http://127.0.0.1:9/v1"}, "voice_url: neither ear nor mouth asks a server"),
        ({"ear": "vosk"}, "ear: 'vosk' is not one of pocketsphinx, server"),
        ({"ear_model": "tiny"}, "ear_model: unknown"),
    ],
)
def test_a_voice_that_cannot_be_had_is_refused(given: dict[str, str], problem: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(problem)):
        Arguments.from_text({"voice": "true", **given})
