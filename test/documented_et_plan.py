"""Documented commands of ET-Plan-Bench, with the tests that run the same code."""

from __future__ import annotations

from collections.abc import Mapping

ET_PLAN: Mapping[str, str] = {
    "planner bench table et-plan": (
        "test/papers/et_plan_bench/test_tables.py::test_the_command_prints_the_papers_tables"
    ),
    "planner bench table et-plan RUN": (
        "test/papers/et_plan_bench/test_tables.py::test_a_run_stands_below_the_rows_of_its_tasks"
    ),
    "planner episodes generate et-plan --split test --count 180 --seed 1 -o TASKS": (
        "test/papers/et_plan_bench/generation/test_command.py"
        "::test_equal_seeds_give_equal_files_with_unique_ids"
    ),
    "planner episodes generate et-plan --split test --count 2000 --seed 1 -o FILE.json.gz": (
        "test/papers/et_plan_bench/generation/test_command.py"
        "::test_equal_seeds_give_equal_files_with_unique_ids"
    ),
    "planner episodes generate et-plan --category navigation --variant occlusion_size "
    "--count 834 -o DIR": (
        "test/papers/et_plan_bench/generation/test_command.py"
        "::test_occlusion_keeps_a_fifth_of_what_was_made"
    ),
    "planner episodes generate et-plan --category two_objects --variant optimal_path "
    "--house et_train_3 -o DIR": (
        "test/papers/et_plan_bench/generation/test_command.py"
        "::test_variants_set_what_is_known_and_how_much_is_carried"
    ),
    "planner episodes generate et-plan --world embedded --category manipulation --split train "
    "--count 50 -o DIR": (
        "test/papers/et_plan_bench/generation/test_bodies.py"
        "::test_the_embedded_simulator_keeps_what_a_body_can_do"
    ),
    "planner episodes generate et-plan --world embedded --split test --count 27 --seed 1 "
    "-o TASKS": (
        "test/papers/et_plan_bench/generation/test_bodies.py"
        "::test_the_embedded_simulator_keeps_what_a_body_can_do"
    ),
    "planner episodes generate et-plan --split test --category navigation --count 100 --seed 5 "
    "-o TASKS": (
        "test/papers/et_plan_bench/generation/test_command.py"
        "::test_equal_seeds_give_equal_files_with_unique_ids"
    ),
    "planner bench TASKS --planner et_agent --ranker learned --backend graph --out RUN": (
        "test/papers/et_plan_bench/test_tasks.py::test_a_generated_task_is_done"
    ),
    **dict.fromkeys(
        (
            f"planner bench table all --episodes-of TASKS --backend {backend} --fault-rate 0 "
            "--option traces=STORE --out RUNS"
            for backend in ("graph", "embedded")
        ),
        "test/planner/bench/runs/test_all_planners.py::test_all_run_in_the_simulator_that_is_named",
    ),
}
