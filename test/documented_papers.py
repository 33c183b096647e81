"""Documented commands of the papers' tables, with the tests that run the same code."""

from __future__ import annotations

from collections.abc import Mapping

OPEN_LOOP = (
    "planner bench heldout --planner open_loop --model teacher:flawless --agents 1 "
    "--memory voxels-plain --episodes 10 --out DYNAMEM"
)
TEAM = "planner bench llamar --planner {} --model teacher --agents 2 --fault-rate 0.35 "
DIALOGUES = "planner bench teach --planner helper --model teacher --fault-rate 0.35 "
LLAMAR_RUNS = "test/papers/llamar/test_llamar_runs.py::test_the_teacher_is_named_in_every_row"
PAPERS: Mapping[str, str] = {
    "planner bench partnr_val --planner heuristic_expert --memory full --agents 2 --episodes 20 "
    "--out B": "test/papers/partnr/test_solved.py::test_a_store_is_filled_from_a_run_once",
    "planner bench partnr_val --planner partnr_react --model teacher --control decentralized "
    "--agents 2 --episodes 20 --out E": (
        "test/papers/partnr/test_right_calls.py::test_some_faults_cost_calls_but_not_the_task"
    ),
    "planner bench table partnr B E": (
        "test/papers/partnr/test_claims.py::test_a_run_stands_beside_the_row_of_its_method"
    ),
    "planner bench table all --planner learned --planner react --fault-rate 0 --count 40 "
    "--seed 1 --out ALL": (
        "test/planner/bench/runs/test_all_planners.py::test_a_killed_comparison_goes_on"
    ),
    OPEN_LOOP: (
        "test/papers/partnr/test_open_loop.py"
        "::test_what_is_unknown_is_searched_in_each_room_and_left_with_its_place"
    ),
    "planner bench table epm DYNAMEM --as hd_gt=ALL/learned --as pp_gt=ALL/react-teacher-0": (
        "test/papers/partnr/test_epm_tables.py::test_the_command_prints_tables_and_curves"
    ),
    TEAM.format("llamar")
    + "--confirm-empty-with-planner true --confirm-done-with-subtasks true --out L": LLAMAR_RUNS,
    TEAM.format("llamar_act") + "--out A": LLAMAR_RUNS,
    "planner bench table llamar L A": (
        "test/papers/llamar/test_tables.py"
        "::test_the_command_prints_the_tables_and_what_stood_behind_a_run"
    ),
    **dict.fromkeys(
        (f"{DIALOGUES}--out RUN", f"{DIALOGUES}--rectifier false --out NO_RECTIFIER"),
        "test/papers/helper/test_run.py::test_a_dialogue_is_carried_out",
    ),
    "planner bench table helper RUN NO_RECTIFIER": (
        "test/papers/helper/test_tables.py::test_the_command_puts_a_run_into_the_tables"
    ),
    "planner bench TASKS --planner et_agent --ranker random --backend graph --out RANDOM": (
        "test/papers/et_plan_bench/test_tasks.py::test_a_generated_task_is_done"
    ),
    "planner bench table et-plan RUN RANDOM": (
        "test/papers/et_plan_bench/test_tables.py::test_a_run_stands_below_the_rows_of_its_tasks"
    ),
    "planner bench table epm RUN_A RUN_B --as hd_gt=RUN_C": (
        "test/papers/partnr/test_epm_tables.py::test_the_command_prints_tables_and_curves"
    ),
    **dict.fromkeys(
        (
            "planner bench gpsr --commands 200 --seed 1 --show failed",
            "planner bench gpsr --commands 2000 --seed 1 --read-only --show wrong",
        ),
        "test/papers/robocup/test_gpsr.py::test_the_command_prints_a_table",
    ),
    "planner bench table helper RUN_A RUN_B --as smaller_model=RUN_C": (
        "test/papers/helper/test_tables.py::test_the_command_puts_a_run_into_the_tables"
    ),
    "planner bench table llamar RUN_A RUN_B --as oracle_verifier=RUN_C": (
        "test/papers/llamar/test_tables.py"
        "::test_the_command_prints_the_tables_and_what_stood_behind_a_run"
    ),
}
