"""Documented commands that train or draw training, with the tests that run the same code."""

from __future__ import annotations

from collections.abc import Mapping

TRAINING: Mapping[str, str] = {
    "planner episodes generate partnr --house train --house new:16 --count 4000 --seed 7001 "
    "--split train -o data/tasks.json.gz": (
        "test/papers/partnr/generation/test_generating.py"
        "::test_the_command_writes_a_pack_with_new_houses"
    ),
    "planner train traces data/traces --episodes data/tasks.json.gz --agents 1 --agents 2 "
    "--most 170": (
        "test/planner/bench/test_trace_data.py::test_a_killed_run_goes_on_and_gives_the_same"
    ),
    "planner train traces data/practice --episodes data/tasks.json.gz --agents 1 --agents 2 "
    "--practice config/models/planner.safetensors": (
        "test/planner/bench/test_trace_data.py"
        "::test_in_practice_the_expert_says_what_it_would_have_called"
    ),
    "planner train learned data/planner --episodes data/tasks.json.gz --traces data/traces": (
        "test/planner/training/learned/test_training.py"
        "::test_both_stages_are_trained_and_the_model_is_read_back"
    ),
    "planner train planner data/whole": (
        "test/planner/commands/test_planner_recipe.py::test_a_tiny_training_runs_to_its_end_and_resumes"
    ),
    "planner run bedside_0 --planner learned": (
        "test/planner/planning/learned/test_learned.py::test_it_carries_out_words_it_has_never_seen"
    ),
    "planner train memory-views data/views --houses 128 --into-open 0.3 --places 3 "
    "--recolored 0.25": (
        "test/planner/bench/test_memory_commands.py"
        "::test_views_are_made_and_a_second_call_makes_none_again"
    ),
    "planner train memory-views data/even --houses 20 --even --recolored 0.4": (
        "test/planner/bench/test_memory_commands.py::test_even_views_show_each_class_as_often"
    ),
    "planner train memory-model data/views data/first --steps 5000": (
        "test/planner/bench/test_memory_commands.py"
        "::test_a_model_is_trained_and_training_continues_where_it_was_stopped"
    ),
    "planner train memory-model data/views data/model --more data/even --start data/first "
    "     --steps 2000 --rate 1.5e-3 --looked-at 4000": (
        "test/planner/bench/test_memory_commands.py"
        "::test_a_model_is_trained_and_training_continues_where_it_was_stopped"
    ),
    "planner train memory-views data/err --houses 24 --into-open 0.3 --places 3 "
    "--recolored 0.25 --sensors consumer_rgbd": (
        "test/planner/bench/test_memory_commands.py"
        "::test_views_are_made_and_a_second_call_makes_none_again"
    ),
    "planner train memory-views data/clean --houses 24 --into-open 0.3 --places 3 "
    "--recolored 0.25": (
        "test/planner/bench/test_memory_commands.py"
        "::test_views_are_made_and_a_second_call_makes_none_again"
    ),
    "planner train memory-model data/err data/rgbd --more data/clean "
    "--start config/models/memory.safetensors      --steps 2500 --rate 1.5e-3 --looked-at 2000 "
    "--off 0.07": (
        "test/planner/training/test_detector.py::test_training_can_begin_with_the_weights_that_ship"
    ),
    "planner train memory-data data/epm --episode trophy_show_0": (
        "test/planner/bench/test_memory_commands.py::test_conversations_are_made_of_a_rollout"
    ),
    "planner train memory data/epm models/llava-onevision data/adapter --epochs 4": (
        "test/planner/training/test_vision_tuning.py"
        "::test_a_killed_run_continues_and_ends_as_if_it_was_never_killed"
    ),
    "planner bench examples RUN --store traces.db --keep-out SUITE": (
        "test/papers/partnr/test_solved.py::test_check_39_what_is_evaluated_never_comes_from_a_run"
    ),
    "planner bench samples RUN --out samples.jsonl": (
        "test/papers/partnr/test_solved.py::test_samples_are_the_successful_actions_and_the_end"
    ),
    "planner train hd data/traces --model models/Model-8B --out models/hd": (
        "test/planner/training/test_chat_tuning.py"
        "::test_a_killed_run_continues_and_ends_as_if_it_was_never_killed"
    ),
    "planner train base smollm2 models/smollm2": (
        "test/planner/training/test_gguf_weights.py"
        "::test_llama_cpp_and_transformers_agree_on_an_adapter"
    ),
    "planner train hd data/react --model models/smollm2 --out data/react_hd --wording short "
    "--longest 1500      --targets q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj "
    "--rank 16 --alpha 32 --dropout 0      --rate 1e-3 --batch 1 --tuning-steps 140 "
    "--tuning-seed 48 --save-every 5": (
        "test/planner/training/test_chat_tuning.py"
        "::test_a_killed_run_continues_and_ends_as_if_it_was_never_killed"
    ),
    "planner train sentences data/sentences.jsonl --annotated test/data/everyday/known.yaml "
    "--sentences data/drawn.txt      --repeats 2 --count 3000 --seed 4903": (
        "test/planner/training/test_sentences.py"
        "::test_the_command_writes_chats_to_tune_a_model_with"
    ),
    "planner train hd data/sentences.jsonl --model models/smollm2 --out data/words      "
    "--targets q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj --rank 16 --alpha 32 "
    "--dropout 0      --rate 2e-3 --batch 16 --tuning-steps 230 --tuning-seed 49 "
    "--save-every 10": (
        "test/planner/training/test_chat_tuning.py"
        "::test_a_killed_run_continues_and_ends_as_if_it_was_never_killed"
    ),
    "planner run demo_dinner --planner react --model smollm2 --adapter react "
    "--model-deadline 300": (
        "test/planner/models/test_gguf.py::test_an_adapter_may_be_named_that_ships"
    ),
    "planner train ddaft train --model models/hd/model --out data/ddaft": (
        "test/planner/commands/test_planner_training.py"
        "::test_a_model_that_solves_nothing_is_told_after_its_first_pass"
    ),
    "planner train ddaft train --learner network --out data/network_ddaft": (
        "test/planner/training/improvement/test_network_learner.py"
        "::test_a_fit_starts_from_the_base_and_learns_the_calls"
    ),
    "planner episodes generate partnr --house train --house new:16 --count 260 --seed 7401 "
    "--split train -o data/shown.json.gz": (
        "test/papers/partnr/generation/test_generating.py"
        "::test_the_command_writes_a_pack_with_new_houses"
    ),
    "planner episodes generate partnr --house train --house new:16 --count 80 --seed 7402 "
    "--split train -o data/tried.json.gz": (
        "test/papers/partnr/generation/test_generating.py"
        "::test_the_command_writes_a_pack_with_new_houses"
    ),
    "planner train traces data/four --episodes data/shown.json.gz --most 4": (
        "test/planner/bench/test_trace_data.py::test_a_killed_run_goes_on_and_gives_the_same"
    ),
    "planner train learned data/hd --episodes data/shown.json.gz --traces data/four "
    "     --reader config/models/planner.safetensors --chooser-steps 400": (
        "test/planner/training/learned/test_training.py"
        "::test_only_the_chooser_is_trained_where_a_reader_is_given"
    ),
    "planner train ddaft data/tasks.json.gz --count 16 --model models/smollm2 "
    "--start config/models/react.smollm2.gguf      --played-by smollm2 --option wording=short "
    "--option offers=possible --agents 1 --max-cycles 30 --model-deadline 600      "
    "--out data/smollm2_ddaft --iterations 1 --samples 17 --in-flight 1 --seed 1 "
    "--longest 1600      --targets q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj "
    "--rank 16 --alpha 32 --dropout 0      --rate 2e-4 --batch 1 --tuning-steps 24 "
    "--tuning-seed 53 --evaluate partnr_val --evaluate-count 20": (
        "test/planner/commands/test_planner_training.py"
        "::test_llama_cpp_plays_a_policy_with_its_adapter"
    ),
    "planner train ddaft data/tried.json.gz --learner network --start data/hd/planner.safetensors "
    "--out data/ddaft_1      --algorithm ddaft --seed 1 --first-rounds 1 --iterations 3 "
    "--samples 80 --steps 1500      --evaluate partnr_val --evaluate-count 80": (
        "test/planner/training/improvement/test_network_learner.py"
        "::test_a_fit_starts_from_the_base_and_learns_the_calls"
    ),
    "planner train ddaft data/whole/tasks.json.gz --count 400 --learner network "
    "     --start data/whole/planner/planner.safetensors --out data/whole/ddaft --iterations 3 "
    "--samples 400      --steps 6000 --seed 7001 --evaluate partnr_val --evaluate-count 80": (
        "test/planner/commands/test_planner_recipe.py"
        "::test_the_last_network_is_improved_on_its_own_rollouts"
    ),
    "planner bench curves data/ddaft_1 data/online-rft_1 data/dart-math_1 data/dast_1 "
    "-o curves.png --json curves.json": (
        "test/planner/bench/runs/test_improvement_gains.py"
        "::test_the_commands_print_them_and_write_them_as_json"
    ),
    "planner bench curves data/ddaft data/online_rft -o curves.png": (
        "test/planner/bench/runs/test_success_curves.py::test_the_command_draws_runs_together"
    ),
    "planner train skill navigate data/navigate": (
        "test/planner/training/skills/test_skill_training.py"
        "::test_imitation_runs_to_the_end_and_goes_on"
    ),
    "planner train skill manipulate data/manipulate": (
        "test/planner/training/skills/test_skill_training.py"
        "::test_imitation_runs_to_the_end_and_goes_on"
    ),
    "planner train skill navigate data/navigate --rounds 8 --first 10000 --more 5000 --steps 500": (
        "test/planner/training/skills/test_skill_training.py"
        "::test_imitation_runs_to_the_end_and_goes_on"
    ),
    "planner train skill manipulate data/manipulate --rounds 6 --first 8000 --more 4000 "
    "--steps 400": (
        "test/planner/training/skills/test_skill_training.py"
        "::test_imitation_runs_to_the_end_and_goes_on"
    ),
    "planner train skill navigate data/ppo --by ppo --start data/navigate/navigate.safetensors": (
        "test/planner/training/skills/test_skill_training.py"
        "::test_reinforcement_runs_to_the_end_and_goes_on"
    ),
    "planner train translator models/all-MiniLM-L6-v2 models/translator": (
        "test/papers/llamar/test_translator_tuning.py::test_training_runs_to_the_end_and_gains"
    ),
    "planner train et-ranking --out data/ranking": (
        "test/papers/et_plan_bench/test_ranking.py::test_a_small_training_writes_all_that_ships"
    ),
    "planner train et-sft data/et_train --test data/et_test --model models/base --out models/et": (
        "test/papers/et_plan_bench/test_et_tuning.py::test_a_tiny_model_is_taught_to_the_end"
    ),
    "planner episodes generate et-plan --split train --count 1000 -o data/et_train": (
        "test/papers/et_plan_bench/test_et_tuning.py::test_a_tiny_model_is_taught_to_the_end"
    ),
    "planner episodes generate et-plan --split test --count 300 -o data/et_test": (
        "test/papers/et_plan_bench/test_et_tuning.py::test_a_tiny_model_is_taught_to_the_end"
    ),
    "planner train traces data/traces_of_persons --from-session RUN": (
        "test/planner/replay/through/test_as_traces.py::"
        "test_a_session_is_exported_as_far_as_its_persons_agreed"
    ),
    "planner train traces data/traces_of_bags --from-bag BAG --agent agent_1": (
        "test/planner/replay/through/test_as_traces.py::test_the_command_reads_bags"
    ),
    "planner bench teach --planner helper --model teacher --memory learned --depth-model "
    "errors:0.077 --true-segmentation true --out RUN": (
        "test/papers/helper/test_tables.py"
        "::test_a_run_with_true_masks_and_estimated_depth_has_its_row"
    ),
    "planner bench partnr_val --planner partnr_views --model roles:MODELS --agents 2 "
    "--episodes 100 --out RUN": (
        "test/papers/partnr/test_claims.py"
        "::test_a_server_gets_the_pictures_and_another_model_the_rest"
    ),
}
