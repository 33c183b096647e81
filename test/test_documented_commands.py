"""Every command that the pages show is run here, or named with what runs it.

A command is a line of a ```bash block, or one that begins with `$ ` in a ```console block.
For a new one do the first of these that fits:

1. It is `planner ...`, needs no ROS and takes a second: add a line to RUN, with words of what it
   prints. Capitals of the page such as FILE are replaced by what `fills` gives.
2. It is `planner up|demo ...`, `make ...` or `ros2 ...`: nothing, as its arguments are checked
   here, and integration/test_documented_commands.py runs every `ros2` line among real nodes.
3. Anything else: add a line to ELSEWHERE, or to documented_et_plan.py, documented_papers.py,
   documented_recordings.py or documented_training.py, that names the test which runs the same code.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from documented import ROOT, SHOWN
from documented_et_plan import ET_PLAN
from documented_papers import PAPERS
from documented_recordings import RECORDINGS, TUTORIALS
from documented_training import TRAINING

from planner import cli, demo, up
from planner.bringup import node_list
from planner.bringup_arguments import Arguments


@dataclass(frozen=True, slots=True)
class Says:
    """What a command prints, and what its placeholders stand for."""

    words: str
    fills: Mapping[str, str] = field(default_factory=dict)


LAYOUT = str(ROOT / "config/spot_scenarios/train_0_layout.yaml")
RUN: Mapping[str, Says] = {
    "planner doctor": Says("ROS"),
    "planner episodes list": Says("bedside_0"),
    "planner episodes list DIR": Says("bedside_0", {"DIR": str(ROOT / "config/episodes/train")}),
    "planner episodes draw globe_tour_0 -o /tmp/globe_tour_0.svg": Says("globe_tour_0.svg"),
    "planner houses list": Says("train_0"),
    "planner houses check train_5 heldout_2": Says("heldout_2"),
    "planner houses draw train_5 -o /tmp/train_5.png": Says(""),
    "planner houses generate --seed 7 -o /tmp/seven.json": Says(""),
    "planner houses generate --seed 7 --rooms 9 -o /tmp/nine.json": Says(""),
    "planner houses generate --seed 7 --room bedroom=2 --room kitchen=1 --room living_room=1 "
    "--objects 60 -o /tmp/small.json": Says(""),
    "planner houses draw /tmp/small.json -o /tmp/small.png --object-names": Says(""),
    "planner houses export habitat train_0 -o /tmp/train_0_habitat": Says("30 pieces"),
    "planner houses export mujoco train_0 -o /tmp/train_0_mujoco": Says("MJCF"),
    "planner layout check FILE": Says("sound, 4 rooms", {"FILE": LAYOUT}),
    "planner layout draw FILE -o /tmp/layout.png": Says("592 x 1178 pixels", {"FILE": LAYOUT}),
    "planner layout house FILE -o /tmp/house.json": Says("house train_0", {"FILE": LAYOUT}),
    "planner serve org/Model-8B-Instruct --gpu-memory 24 --gpus 1 --dry-run": Says("vllm serve"),
    'planner check skill Close --call "Close[fridge_0]" --before "Navigate[fridge_0]" '
    '--before "Open[fridge_0]"': Says("passed   does_to_the_world_what_the_memory_notes"),
    "planner keystore DIR": Says("identities for ROS domain", {"DIR": "keystore"}),
    "planner houses --help": Says("generate"),
    "planner programs list": Says("newspapers"),
    "planner programs show 1": Says("CoffeeMachine"),
    'planner programs find "Water the plant, please."': Says("distance"),
    "planner houses check /tmp/small.json": Says("small"),
    "planner evaluate --help": Says("bag"),
    "planner run --planner helper --help": Says("--examples-shown"),
}
# `file::test`.
GRAPH_IMPORT = (
    "test/papers/et_plan_bench/published/test_task_graphs.py"
    "::test_the_command_takes_the_environments_graphs_or_makes_them"
)
DIALOGUES = "test/papers/helper/teach/test_tasks.py::"
TEAM_TASKS = "test/papers/llamar/test_tasks.py::"
GENERATE = (
    "test/papers/partnr/generation/test_generating.py"
    "::test_the_command_writes_a_pack_with_new_houses"
)
RESUMING = "test/papers/partnr/generation/test_resuming.py::"
RESUME = f"{RESUMING}test_a_killed_run_goes_on_to_the_same_bytes"
RESUME_IN_PROCESSES = f"{RESUMING}test_several_processes_and_an_interruption_change_nothing"
CORE_ALONE = "test/test_wheel.py::test_the_core_alone_is_built_and_runs_an_episode"
PROGRAMS = "test/papers/helper/test_programs_cli.py::"
EXCHANGE = f"{PROGRAMS}test_export_import_and_forget"
ELSEWHERE: Mapping[str, str] = {
    "python3 scripts/core_copy.py ../planner-core": CORE_ALONE,
    "make -C ../planner-core test demo": CORE_ALONE,
    "python scripts/release.py --dry-run": "test/test_release.py::test_a_dry_run_changes_nothing",
    "python scripts/release.py": (
        "test/test_release.py::test_both_packages_are_tried_before_the_commit_is_tagged"
    ),
    "planner houses explore train_0 -o explored.png": (
        "test/planner/commands/test_houses.py::test_a_house_is_explored_and_drawn"
    ),
    'planner instruct "<Driver> What can I do? <Commander> Make a coffee, please."': (
        "test/papers/helper/test_run.py::test_a_dialogue_is_carried_out"
    ),
    "planner programs list --memory programs.sqlite --person Ann": f"{PROGRAMS}test_list_and_show",
    **dict.fromkeys(
        (
            "planner programs export --memory programs.sqlite -o programs.yaml",
            "planner programs import --memory other.sqlite programs.yaml",
            "planner programs forget --memory programs.sqlite 1001",
            "planner programs forget --memory programs.sqlite --person Ann",
        ),
        EXCHANGE,
    ),
    "planner programs keep-out --memory programs.sqlite teach": (
        f"{PROGRAMS}test_the_instructions_of_a_suite_are_never_learned"
    ),
    "planner episodes generate llamar -o FILE.json.gz": (
        f"{TEAM_TASKS}test_the_pack_is_what_its_source_makes"
    ),
    "planner bench TASKS --planner et_agent --backend graph --out RUN": (
        "test/planner/app/test_embedded_run.py"
        "::test_planner_run_and_bench_take_the_graph_world_for_graphs"
    ),
    "planner check planner et_agent": (
        "test/planner/app/test_planner_check.py"
        "::test_the_agent_of_et_plan_bench_passes_without_a_model"
    ),
    "planner episodes generate teach -o FILE.json.gz": (
        f"{DIALOGUES}test_the_whole_pack_is_what_its_source_makes"
    ),
    "planner episodes generate routines -o FILE.json.gz": (
        "test/papers/helper/teach/test_routines.py::test_the_whole_pack_is_what_its_source_makes"
    ),
    "planner episodes import teach GAME.json... -o DIR": (
        "test/papers/helper/teach/test_game_import.py"
        "::test_the_command_imports_what_the_expert_solves"
    ),
    "planner episodes generate teach --tasks tasks.yaml -o DIR": (
        f"{DIALOGUES}test_tasks_of_ones_own_become_episodes"
    ),
    "planner episodes import llamar config_type1.json --checkers TASKS -o DIR": (
        "test/papers/llamar/test_public_import.py"
        "::test_each_kind_of_task_is_sound_and_the_expert_solves_it"
    ),
    "planner episodes generate llamar --tasks tasks.yaml -o DIR": (
        f"{TEAM_TASKS}test_a_file_of_ones_own"
    ),
    "planner run desk_tidy_0 --skill-kind noisy --skill-noise 2": (
        "test/planner/test_api.py::test_the_command_takes_them_as_flags"
    ),
    "planner run bedside_0 --memory learned --sensors consumer_rgbd": (
        "test/planner/test_api.py::test_the_command_takes_sensors"
    ),
    "planner bench desk_tidy_0 --skill-kind noisy --out runs/noisy": (
        "test/planner/bench/runs/test_commands.py::test_skills_of_another_kind_are_run_and_recorded"
    ),
    'planner run train_0 --instruction "Bring the laptop to the kitchen table." '
    '--answer "the bedroom one"': (
        "test/planner/test_api_words.py::test_the_command_takes_words_and_answers"
    ),
    'planner instruct "Put the ball and the globe in the wardrobe and switch off all lamps."': (
        "test/integration/test_words.py::test_an_instruction_is_carried_out_and_judged_as_understood"
    ),
    "planner spot-emulator --round-trip 0.1 --jitter 0.02 --loss 0.01 --stall 10:5 --stall 60:2": (
        "test/sim_bridge/spot/test_relay.py"
        "::test_the_command_takes_the_link_from_its_options_over_the_file"
    ),
    "planner robot-emulator --house train_0": (
        "test/integration/test_robot_emulator.py::test_it_grasps_what_its_clients_see"
    ),
    **dict.fromkeys(
        (f"ros2 lifecycle set /memory {name}" for name in ("deactivate", "activate", "shutdown")),
        "test/integration/test_lifecycle.py::test_an_inactive_memory_refuses_and_forgets_nothing",
    ),
    "planner console": (
        "test/integration/test_console.py::test_a_second_console_looks_at_the_same_stack"
    ),
    "planner console BAG": (
        "test/planner/console/test_bag_page.py::test_the_command_serves_a_bag_until_it_is_stopped"
    ),
    "planner report BAG": (
        "test/planner/replay/report/test_cli.py::test_a_bag_s_report_lies_beside_it"
    ),
    "planner report BAG BAG2 -o report": (
        "test/planner/replay/report/test_cli.py::test_several_bags_and_one_that_cannot_be_read"
    ),
    "planner approve agent_0 --picture asked.png": (
        "test/integration/test_approve.py::test_it_shows_the_question_with_its_picture"
    ),
    "planner approve agent_0 --yes ID": (
        "test/integration/test_approve.py::test_yes_begins_what_can_be_done"
    ),
    "planner approve agent_0 --yes ID --pixel 320 200": (
        "test/integration/test_approve.py::test_another_pixel_may_be_given"
    ),
    "planner approve agent_0 --kind ID": (
        "test/integration/test_approve.py"
        "::test_at_a_terminal_what_was_typed_before_the_question_is_no_answer"
    ),
    "planner approve agent_0 --no ID": "test/integration/test_approve.py::test_no_refuses_it",
    "planner attend agent_0 --namespace left": (
        "test/integration/test_namespaces.py::test_a_command_reaches_the_stack_of_its_namespace"
    ),
    "planner spot-run PROGRAM 127.0.0.1": (
        "test/sim_bridge/spot/test_run_program.py"
        "::test_it_gives_the_sdk_another_port_and_authority_and_nothing_else"
    ),
    "planner spot-look": (
        "test/sim_bridge/spot/test_connection.py"
        "::test_spot_look_tells_how_the_robot_is_and_moves_nothing"
    ),
    "planner run bedside_0 --memory learned": (
        "test/planner/memory/learned/test_updater.py"
        "::test_a_thing_is_believed_when_it_was_seen_from_several_places"
    ),
    **TRAINING,
    **ET_PLAN,
    **PAPERS,
    "planner up planner:=none memory:=vlm memory_model:=epm memory_url:=http://127.0.0.1:8000/v1": (
        "test/integration/test_memory.py::test_a_model_behind_a_server_makes_the_edits"
    ),
    "planner bench memory heldout_0 --updater learned --json scores.json --curves scores.png": (
        "test/planner/bench/test_memory_commands.py::test_memories_are_scored"
    ),
    "planner bench speed": "test/planner/bench/test_speed.py::test_a_row_for_real",
    "planner bench speed --only frames --only judge_step": (
        "test/planner/bench/test_speed.py::test_rows_are_chosen"
    ),
    "planner bench train --planner expert --out RUN": (
        "test/planner/bench/runs/test_commands.py::test_a_suite_runs_once"
    ),
    "planner bench show RUN": ("test/planner/bench/runs/test_commands.py::test_a_run_is_shown"),
    "planner bench failures RUN_A RUN_B": (
        "test/planner/bench/runs/test_failures.py::test_a_runs_failures_are_printed"
    ),
    "planner bench compare RUN_A RUN_B": (
        "test/planner/bench/runs/test_commands.py::test_two_runs_are_compared"
    ),
    "planner bench table all --count 300 --seed 1 --planner expert --planner heuristic_expert "
    "--planner learned --planner words --planner et_agent --planner helper_retrieval "
    "--option horizon=100 --out DIR": (
        "test/planner/bench/runs/test_all_planners.py::test_a_killed_comparison_goes_on"
    ),
    "planner bench table all --count 100 --seed 1 --out DIR": (
        "test/planner/bench/runs/test_all_planners.py::test_a_killed_comparison_goes_on"
    ),
    "planner bench llamar --planner llamar --model NAME --model-url http://127.0.0.1:8000/v1 "
    "--agents 3 --episodes 48 --out RUN": (
        "test/papers/llamar/test_tables.py"
        "::test_the_command_prints_the_tables_and_what_stood_behind_a_run"
    ),
    "planner bench llamar --planner llamar --model teacher --agents 2 --fault-rate 0.1 --out RUN": (
        "test/papers/llamar/test_llamar_runs.py::test_the_teacher_is_named_in_every_row"
    ),
    "planner bench claims RUN_A RUN_B": (
        "test/planner/bench/runs/test_commands.py::test_claims_are_printed"
    ),
    "planner bench heldout --planner partnr_react --model NAME --model-url "
    "http://127.0.0.1:8000/v1 --agents 2 --memory privileged --episodes 100 --workers 2 "
    "--out RUN": "test/planner/bench/runs/test_engines.py::test_a_pool_leaves_the_same_rows",
    "planner run night_light_0": (
        "test/planner/app/test_embedded_run.py::test_a_run_is_the_same_again"
    ),
    "planner episodes lint": (
        "test/planner/episodes/lint/test_linting.py::test_every_shipped_episode_passes"
    ),
    "planner episodes lint FILE...": (
        "test/planner/episodes/lint/test_linting.py::test_the_command_counts_and_fails"
    ),
    "planner episodes lint DIR --solve": (
        "test/planner/episodes/lint/test_linting.py::test_what_a_planner_cannot_solve_is_reported"
    ),
    "planner episodes generate partnr --house heldout --count 100 --seed 1 --solve -o DIR": (
        "test/papers/partnr/generation/test_generating.py"
        "::test_what_the_planner_does_not_solve_is_rejected_and_counted"
    ),
    "planner episodes generate partnr --house heldout --house new:8 --split val --count 1000 "
    "--seed 2601 --solve -o FILE.json.gz": GENERATE,
    "planner episodes generate partnr --house new:10 --split test --count 1000 --seed 2610 "
    "--solve -o FILE.json.gz": RESUME,
    "planner episodes generate partnr --house train --count 10000 --seed 1 --solve --jobs 2 "
    "-o FILE.json.gz": RESUME_IN_PROCESSES,
    "planner episodes generate partnr --house new:10 --type spatial --seed 2 "
    "-o FILE.json.gz": GENERATE,
    "planner episodes correct SUITE --corrections DIR -o FILE.json.gz": (
        "test/planner/episodes/test_corrections.py::test_the_command_applies_them_to_all"
    ),
    "planner episodes statistics SUITE": (
        "test/planner/episodes/test_statistics.py::test_the_command_prints_both"
    ),
    "planner episodes import et-plan-bench tasks.json -o DIR": (
        "test/papers/et_plan_bench/published/test_importing.py::test_the_command_writes_what_the_lint_accepts"
    ),
    "planner episodes import et-plan-bench tasks.json -o DIR --graph": GRAPH_IMPORT,
    "planner episodes import et-plan-bench tasks.json -o DIR --scenes GRAPHS": GRAPH_IMPORT,
    "planner episodes import partnr-episodes val.json.gz -o DIR --metadata METADATA --fit": (
        "test/papers/partnr/episodes/test_episodes.py::test_a_house_is_made_to_fit_and_the_lint_finds_nothing"
    ),
    "planner episodes import partnr-episodes val.json.gz --scenes HSSD --objects OVMM -o DIR": (
        "test/papers/partnr/episodes/test_scenes.py"
        "::test_the_command_makes_episodes_that_start_and_are_carried_out"
    ),
    **dict.fromkeys(
        ("planner houses import HSSD", "planner houses import HSSD 102817140 -o FILE"),
        "test/sim_bridge/habitat/hssd/test_scene.py::test_the_command_writes_a_house_that_loads",
    ),
    "planner bench partnr-val --backend habitat --scenes HSSD --objects OVMM "
    "--episodes val.json.gz --out DIR": (
        "test/papers/partnr/test_validation_split.py"
        "::test_the_split_runs_on_habitat_and_goes_on_where_it_was"
    ),
    "planner houses import scenes ReplicaCAD --all -o DIR": (
        "test/sim_bridge/habitat/hssd/test_other_datasets.py::test_the_command_reads_them_all"
    ),
    "planner houses import hssd HSSD --all -o DIR": (
        "test/sim_bridge/habitat/hssd/test_tolerance.py::test_the_table_says_what_was_read"
    ),
    "planner houses export habitat FILE --scenes HSSD -o DIR": (
        "test/sim_bridge/habitat/test_hssd_export.py::test_the_command_writes_what_shows_their_meshes"
    ),
    "planner demo --backend habitat": (
        "test/integration/sim_bridge/habitat/test_bridge_habitat.py::test_the_demo_runs_on_it"
    ),
    "planner bench parity --judges --a embedded --b embedded train_1": (
        "test/planner/bench/test_parity_cli.py::test_the_command_prints_a_table_for_each_simulator"
    ),
    "planner bench parity --a embedded --b habitat train_1 --pictures /tmp/parity": (
        "test/planner/bench/test_parity.py::test_a_simulator_is_at_par_with_itself"
    ),
    "planner episodes import virtualhome-graph graph.json -o DIR": (
        "test/papers/et_plan_bench/virtualhome/test_importing.py::test_the_command_writes_what_the_lint_accepts"
    ),
    **dict.fromkeys(
        (
            'planner instruct ""',
            'planner instruct "Bring a cup to the table."',
            'planner instruct "Switch off the floor lamps."',
        ),
        "test/integration/test_instruct.py::test_the_story_is_told_and_a_question_answered",
    ),
    **dict.fromkeys(
        ("planner replay BAG", "planner replay BAG --rate 2 --start 30 --duration 60 --loop"),
        "test/integration/test_replay.py::test_a_part_is_played_again_and_again_under_another_name",
    ),
    **dict.fromkeys(
        (
            "planner replay BAG --topics '/agent_0/*' /tf /tf_static --exclude '*/joint_states'",
            "planner replay BAG --exclude '/memory/*' /world_graph /map /house/markers",
        ),
        "test/planner/replay/player/test_options.py::test_names_and_patterns",
    ),
    **RECORDINGS,
    **TUTORIALS,
    "planner evaluate BAG": (
        "test/planner/replay/test_evaluate.py::test_a_bag_a_log_and_the_run_itself_give_one_verdict"
    ),
    "planner recover BAG": (
        "test/planner/replay/test_recover.py::test_recovery_keeps_what_is_beside_the_messages"
    ),
    "planner recover BAG -o OUT": (
        "test/planner/replay/test_recover.py::test_recovery_keeps_what_is_beside_the_messages"
    ),
    "planner evaluate RUNS --mode compat --json": (
        "test/planner/replay/test_evaluate.py::test_a_folder_is_all_that_is_in_it"
    ),
    "planner evaluate STATES.jsonl --metrics --traces TRACES.jsonl": (
        "test/planner/replay/test_evaluate.py::test_the_same_trace_comes_from_a_bag"
    ),
    "planner run fruit_0 --trace TRACE.jsonl --state-log STATES.jsonl": (
        "test/planner/app/test_run.py::test_a_run_leaves_its_states_to_be_judged_again"
    ),
    'planner episodes draw "Put the globe on the table." --house train_0 -o /tmp/understood.png': (
        "test/planner/episodes/drawing/test_cli.py::test_the_command_takes_an_instruction"
    ),
    "planner episodes draw globe_tour_0": (
        "test/planner/episodes/drawing/test_files.py::test_svg_and_png_are_written"
    ),
    "planner episodes review heldout -o DIR": (
        "test/planner/episodes/review/test_review.py::test_the_command_counts"
    ),
    "planner episodes build": (
        "test/planner/episodes/test_shipped_episodes.py::test_the_file_is_what_its_recipe_makes"
    ),
    "planner episodes build -o DIR": (
        "test/planner/episodes/recipes/test_build.py::test_the_command_builds_and_lists"
    ),
    "planner episodes import partnr-instructions FILE... -o DIR --seed 0": (
        "test/papers/partnr/episodes/test_importing.py::test_command_line"
    ),
    "planner episodes lint DIR --json": (
        "test/planner/episodes/lint/test_linting.py::test_the_command_counts_and_fails"
    ),
    'python -c "from planner.world.catalogue import default_catalogue; default_catalogue()"': (
        "test/planner/world/test_catalogue.py::test_there_are_enough_classes"
    ),
    "planner check model NAME --model-url http://127.0.0.1:8000/v1": (
        "test/planner/app/test_model_check.py::test_what_ships_passes"
    ),
    "planner check backend embedded": (
        "test/sim_bridge/test_conformance.py::test_the_command_prints_a_table_and_its_verdict"
    ),
    **dict.fromkeys(
        (
            (
                "planner up backend:=graph episode:=night_light_0 planner:=expert narrate:=true"
                " record:=/tmp/run"
            ),
            "planner evaluate /tmp/run/bag",
        ),
        "test/integration/test_graph_stack.py::"
        "test_a_run_without_pictures_is_remembered_recorded_and_judged",
    ),
    "planner check backend rescue --episode rescue-1-agents-2": (
        "test/papers/llamar/rescue/test_backend.py::test_it_conforms"
    ),
    "planner run rescue-1-agents-2 --planner rescue_rules": (
        "test/papers/llamar/rescue/test_rules.py::test_planner_run_rescues_and_puts_out"
    ),
    "planner run rescue-1-agents-2 --planner llamar --actions rescue --model NAME "
    "--model-url URL": ("test/papers/llamar/test_rescue.py::test_the_command_plays_it_by_a_script"),
    "planner bench rescue --planner llamar --actions rescue --model teacher --horizon 35 "
    "--out RUN": (
        "test/papers/llamar/test_rescue.py::test_the_teacher_knows_what_rescuers_should_do"
    ),
    "planner bench rescue --planner rescue_rules": (
        "test/papers/llamar/rescue/test_subtask_rules.py::test_a_whole_run_does_the_whole_checklist"
    ),
    "planner check backend graph": (
        "test/sim_bridge/graph/test_backend.py::test_it_conforms_in_a_furnished_house"
    ),
    "planner check backend graph --house my_graph.json": (
        "test/sim_bridge/graph/test_backend.py::test_it_conforms_in_a_foreign_graph"
    ),
    "planner houses check my_graph.json": (
        "test/planner/houses/test_houses_cli.py::test_a_scene_graph_is_checked_and_drawn"
    ),
    'planner run my_graph.json --instruction "put the apple in the fridge"': (
        "test/planner/test_api.py::test_a_scene_graph_goes_where_a_houses_name_goes"
    ),
    "planner houses play DATASET": (
        "test/sim_bridge/graph/test_programs.py::test_a_bad_file_is_named_and_the_others_are_played"
    ),
    **dict.fromkeys(
        (
            (
                "tar -C DIR --exclude=./private --exclude=./enclaves/planner/operator"
                " -cf robot_keys.tar ."
            ),
            "export PLANNER_NETWORK=open",
            "export ROS_SECURITY_ENABLE=true ROS_SECURITY_STRATEGY=Enforce",
            "export ROS_SECURITY_KEYSTORE=DIR",
            "export ROS_SECURITY_ENCLAVE_OVERRIDE=/planner/operator",
        ),
        "test/planner/security/test_page.py::test_what_a_robot_gets_is_sound_and_commands_nobody",
    ),
    **dict.fromkeys(
        (
            "mkdir -p ws/src",
            "git clone REPOSITORY ws/src/planner",
            "cd ws",
            "make -C src/planner setup",
            "source src/planner/scripts/env.sh",
            "colcon build --symlink-install --base-paths src/planner src/planner/msgs",
            "source install/setup.bash",
        ),
        "test/integration/test_workspace.py::test_the_pages_way_on_the_wheels",
    ),
}

# What no test here can run. The page says so too.
NEEDS_A_DISTRIBUTIONS_ROS = {
    "source /opt/ros/jazzy/setup.bash",
    "python3 -m venv --system-site-packages venv && source venv/bin/activate",
    (
        "pip install cffi fastapi lz4 'mujoco>=3.3,<5' 'openai>=3,<4' mcap 'numpy<2' onnx"
        " 'pydantic>=2' rosbags safetensors threadpoolctl uvicorn websockets zstandard"
    ),
    "python -m colcon build --symlink-install --base-paths src/planner src/planner/msgs",
}
NEEDS_CONDA = {
    "conda create -n habitat python=3.9 cmake=3.14.0",
    "conda activate habitat",
    "conda install habitat-sim withbullet headless -c conda-forge -c aihabitat",
}


@pytest.mark.slow
def test_commands_without_ros_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of RUN, as some read what others wrote; /tmp is a folder of this test."""
    monkeypatch.chdir(tmp_path)
    for command, says in RUN.items():
        words = [
            says.fills.get(word, re.sub(r"^/tmp(?=/)", str(tmp_path), word))
            for word in shlex.split(command)[1:]
        ]
        try:
            status = cli.main(words)
        except SystemExit as ended:  # how argparse ends --help
            status = int(ended.code or 0)
        told = capsys.readouterr()
        assert status == 0, (command, told.err)
        assert says.words in told.out, command
    assert {path.name for path in tmp_path.iterdir()} >= {"train_5.png", "small.png", "nine.json"}


def _parsed(module: object, words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)  # type: ignore[attr-defined]
    return parser.parse_args(words)


def _check_planner(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`planner up` or `planner demo` whose nodes are listed, not started."""
    module = {"up": up, "demo": demo}[words[0]]
    listed: list[str] = []

    def note(specs: object, _log: object = None, **_more: object) -> int:
        listed.extend(spec.name for spec in specs)  # type: ignore[attr-defined]
        return 0

    real = up.require_files

    def require(arguments: Arguments, **named: str) -> None:
        # Files that stand for the user's own need not be here; what is named must be.
        if arguments.episode != "FILE" and not arguments.house.startswith("/tmp/"):
            real(arguments, **named)

    monkeypatch.setattr(module, "run_nodes", note)
    monkeypatch.setattr(module, "require_files", require)
    assert module.run(_parsed(module, words[1:])) == 0
    assert "bridge" in listed


def _check_make(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    (target, *settings) = words
    assert re.search(rf"^{target}:.*##", text, re.M), f"no target {target}"
    given = dict(setting.split("=") for setting in settings)
    for name in given.keys() - {"PYTHON"}:
        assert f"$({name})" in text or f"$(value {name})" in text, name
    if target == "demo":
        options = {f"--{name.lower().replace('_', '-')}": v for name, v in given.items()}
        arguments = [word for pair in options.items() for word in pair]
        _check_planner(["demo", *arguments], monkeypatch)


def _check_ros2(words: list[str]) -> None:
    """Against the files; integration/test_documented_commands.py runs it."""
    match words:
        case ["run", "planner", node, "--ros-args", *_]:
            assert (ROOT / "nodes" / node).is_file()
        case ["launch", "planner", file, *settings]:
            assert (ROOT / "launch" / file).is_file()
            given = dict(s.split(":=") for s in settings if not s.startswith("--"))
            assert node_list(Arguments.from_text(given))
        case ["topic", "echo", name, *_] | ["service", "call", name, *_]:
            assert name.startswith("/")
        case ["action", "send_goal", name, *_]:
            assert name.startswith("/")
        case _:
            pytest.fail(f"ros2 {' '.join(words)}: nothing runs this")


def _check_elsewhere(command: str) -> None:
    proof = ELSEWHERE.get(command)
    assert proof, f"{command!r}: nothing runs it; see the head of {Path(__file__).name}"
    file, _, name = proof.partition("::")
    text = (ROOT / file).read_text("utf-8")
    assert f"def {name}(" in text, proof


@pytest.mark.needs("papers", "sim_bridge/spot", "sim_bridge/habitat")
@pytest.mark.parametrize("command", sorted(set(SHOWN) - RUN.keys()))
def test_it_is_run_somewhere(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    match shlex.split(command):
        case _ if command in NEEDS_A_DISTRIBUTIONS_ROS:
            assert "no test" in (ROOT / "docs/workspace.md").read_text("utf-8")
        case _ if command in NEEDS_CONDA:
            assert "no test here has conda" in (ROOT / "docs/habitat.md").read_text("utf-8")
        case _ if command in ELSEWHERE:
            _check_elsewhere(command)
        case ["planner", "up" | "demo", *_] as words:
            _check_planner(words[1:], monkeypatch)
        case ["make", *words]:
            _check_make(words, monkeypatch)
        case ["ros2", *words]:
            _check_ros2(words)
        case _:
            _check_elsewhere(command)


def test_nothing_is_listed_that_no_page_shows() -> None:
    listed = {*RUN, *ELSEWHERE, *NEEDS_A_DISTRIBUTIONS_ROS, *NEEDS_CONDA}
    assert sorted(listed - set(SHOWN)) == []


def test_the_pages_are_read() -> None:
    assert {"make test", "planner houses list", "planner episodes list"} <= set(SHOWN)
