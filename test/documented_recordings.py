"""Documented commands about bags and in tutorials, with the tests that run the same code."""

from __future__ import annotations

from collections.abc import Mapping

RECORDINGS: Mapping[str, str] = {
    "planner export BAG --to rerun": (
        "test/planner/replay/export/test_rerun_file.py::test_both_times_are_those_of_the_bag"
    ),
    "planner export BAG --to lerobot --agent agent_0 --agent agent_1 -o DIR": (
        "test/planner/replay/export/test_lerobot_dataset.py"
        "::test_several_agents_are_episodes_and_a_bag_of_another_body_is_refused"
    ),
    "planner export BAG1 BAG2 --to lerobot -o DIR": (
        "test/planner/replay/export/test_cli.py::test_several_bags_are_one_data_set"
    ),
    "planner export BAG --to csv --topics /evaluation /skills/results": (
        "test/planner/replay/export/test_csv_tables.py::test_only_the_topics_that_were_asked_for"
    ),
    "planner export BAG --to animation -o demo.webp": (
        "test/planner/replay/export/test_animation.py::test_a_run_becomes_a_picture_that_moves"
    ),
    "planner export BAG --to video --fps 20 --speed 4": (
        "test/planner/replay/export/test_video.py"
        "::test_speed_shortens_it_and_agents_stand_side_by_side"
    ),
    "planner replay BAG --remap /evaluation:=/recorded/evaluation": (
        "test/integration/test_replay.py::test_a_part_is_played_again_and_again_under_another_name"
    ),
    "planner replay BAG --pause": ("test/integration/test_replay.py::test_keys_pause_step_and_end"),
    "planner replay BAG --through memory:=learned": (
        "test/planner/replay/through/test_memory.py::test_learned_memory_sees_again_what_it_saw"
    ),
    "planner replay BAG --through planner:=react model:=NAME model_url:=http://127.0.0.1:8000/v1": (
        "test/planner/replay/through/test_planning.py::test_a_model_gets_the_recorded_prompts_again"
    ),
    "planner replay BAG --through evaluator": (
        "test/planner/replay/through/test_evaluator.py::test_the_judge_says_again_what_it_said"
    ),
    "planner replay BAG --through memory:=privileged --start 10 --duration 30 -o FOLDER": (
        "test/planner/replay/through/test_memory.py::test_a_part_begins_with_the_furniture_only"
    ),
}
TUTORIALS: Mapping[str, str] = {
    "planner check robot my_robot.yaml --urdf my_robot.urdf": (
        "test/sim_bridge/ros/test_check.py::test_settings_that_fit_are_listed"
    ),
    "planner check robot my_robot.yaml --no-reach": (
        "test/integration/test_check_robot.py"
        "::test_all_of_the_emulated_robot_is_found_and_it_is_sent_nothing"
    ),
    "planner check robot config/robots/tiago.yaml --urdf tiago.urdf": (
        "test/sim_bridge/ros/test_check.py::test_the_share_of_places_within_reach"
    ),
    "planner operate agent_0 claim power_on stand": (
        "test/integration/test_operate.py::test_claim_power_on_and_stand_let_a_robot_move"
    ),
    "planner attend agent_0": (
        "test/integration/test_heartbeat.py::test_the_command_attends_until_it_is_ended"
    ),
    "planner check planner NAME": (
        "test/test_tutorials.py::test_the_planner_is_found_by_its_entry_point_and_passes_its_check"
    ),
    'planner run /tmp/small.json --instruction "Switch off all lamps." --memory full': (
        "test/test_tutorials.py::test_a_task_in_a_generated_house"
    ),
}
