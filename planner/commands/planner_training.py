"""`planner train hd` and `planner train ddaft`: planners that learn (docs/training.md)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from planner.bench.runs.engines import add_engine_flags, make_engine
from planner.bench.runs.manifest import TRACES_NAME, SuiteEpisode, drawn, find_suite, naming
from planner.bench.runs.rows import ROWS_NAME, Row
from planner.bench.runs.run_cli import HELDOUT, NUMBERED, Collected, Evaluated, chats_in
from planner.bench.runs.runner import BenchRollouts, SettingsOf
from planner.bench.runs.settings import MemoryKind, RunSettings, memory_names
from planner.bench.runs.success_curves import draw_success_curves
from planner.command_line import add_seconds_flag
from planner.models.chat import MODEL_DEADLINE
from planner.models.gguf import SMOLLM2, smollm2_file
from planner.models.model_choice import absolute
from planner.parts.option import named_values
from planner.planning.learned.chooser import shipped_planner
from planner.planning.numbered_dialogue import Wording
from planner.planning.part import PLANNERS
from planner.training.chat_tuning import (
    CHATS_ENDING,
    DDAFT,
    HD,
    MODEL,
    PACKED,
    SINGLE_CALLS,
    TARGETS,
    Chat,
    Trained,
    chats_of_traces,
    read_chats,
    tune_chats,
)
from planner.training.improvement.journal import CURVE
from planner.training.improvement.loop import CausalLearner, Field, Learner, NetworkLearner, improve
from planner.training.improvement.sampler import ALGORITHMS, ImprovementRecipe, SoftmaxMode
from planner.training.learned.training import MODEL_FILE, ChooserProgress, ChooserRecipe
from planner.training.traces.folder import learnable_path, read_shard, read_traces
from planner.training.traces.rules import with_fewer_searches, without_idle
from planner.training.tuning import ADAPTER, TuningProgress, TuningRecipe, unpack
from planner.world.errors import PlannerError
from planner.world.topics import one_line

NOTHING, PICTURE = "none", "curve.png"
CAUSAL, NETWORK, NETWORK_PLANNER = "causal", "network", "learned"
LOCAL = "local"


def add_hd(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train hd`."""
    parser.add_argument(
        "data",
        nargs="+",
        type=Path,
        metavar="DATA",
        help="folders of traces, runs of planner bench --planner react or with --keep-traces, or "
        "files of chats (.jsonl)",
    )
    parser.add_argument("--model", type=Path, required=True, help="folder of the base model")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of checkpoint and result; resumes there"
    )
    parser.add_argument(
        "--keep-out", action="append", default=[], metavar="SUITE", help="besides heldout"
    )
    parser.add_argument(
        "--wording",
        choices=[*Wording],
        default=Wording.PAPER.value,
        help="of traces, as of the planner's option",
    )
    parser.add_argument(
        "--searches",
        type=int,
        metavar="N",
        help="of traces: at most N calls in vain before each thing done; default: all",
    )
    parser.add_argument(
        "--longest", type=int, default=0, metavar="TOKENS", help="leave out longer ones; 0 = none"
    )
    parser.add_argument(
        "--start", type=Path, metavar="ADAPTER", help="to begin with: its folder or GGUF file"
    )
    add_tuning(parser, HD)


def add_base(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train base`."""
    parser.add_argument("weights", metavar="GGUF", help="a GGUF file, or smollm2")
    parser.add_argument("output", type=Path, help="folder of the model, not there yet")
    parser.add_argument(
        "--dtype", choices=["bfloat16", "float32"], default="bfloat16", help="of its weights"
    )


def run_base(args: argparse.Namespace) -> int:
    """Writes the weights of a GGUF file as a folder to train from."""
    file = smollm2_file() if args.weights == SMOLLM2 else Path(args.weights)
    print(f"{unpack(file, args.output, args.dtype)}: use it as --model of planner train")
    return 0


def add_finetuned(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train finetuned`."""
    parser.add_argument(
        "data", nargs="+", type=Path, metavar="SAMPLES", help="files of planner bench samples"
    )
    parser.add_argument("--model", type=Path, required=True, help="folder of the base model")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of checkpoint and result; resumes there"
    )
    add_tuning(parser, SINGLE_CALLS)


def run_finetuned(args: argparse.Namespace) -> int:
    """Fine-tunes a model to samples of single calls, as PARTNR's."""
    return _tune(args, read_chats(args.data), "samples", "partnr_finetuned")


def run_hd(args: argparse.Namespace) -> int:
    """Fine-tunes a model to dialogues."""
    chats = _chats(args.data, args.keep_out, Wording(args.wording), args.searches)
    return _tune(args, list(chats), "dialogues", "react")


def _tune(args: argparse.Namespace, chats: Sequence[Chat], what: str, planner: str) -> int:
    done = tune_chats(
        chats,
        args.model,
        args.out,
        tuning_of(args),
        _print_progress,
        trained=Trained(args.trained),
        targets=targets_of(args),
        longest=getattr(args, "longest", 0),
        start=getattr(args, "start", None),
    )
    adapter = f" --adapter {done.adapter}" if done.adapter is not None else ""
    print(
        f"{len(chats)} {what} learned; use: --planner {planner} --model local:{done.model}{adapter}"
    )
    if done.packed is not None:
        print(f"{done.packed}: the same for llama.cpp, as --adapter of smollm2 or gguf:FILE")
    return 0


def _chats(
    places: Iterable[Path], keep_out: Iterable[str], wording: Wording, searches: int | None
) -> Iterable[Chat]:
    for place in places:
        if place.suffix == CHATS_ENDING:
            yield from read_chats([place])
            continue
        evaluated, collected = Evaluated.of(keep_out), Collected()
        kept = sorted(place.glob(str(learnable_path(Path(TRACES_NAME, "*")))))
        if (place / ROWS_NAME).is_file() and not kept:
            yield from chats_in(place, evaluated, collected)
            print(f"{place}: dialogues: {collected}")
        else:
            played = (t for f in kept for t in read_shard(f) if t.instruction not in evaluated)
            traces = map(without_idle, played) if kept else read_traces(place)
            if searches is not None:
                traces = (with_fewer_searches(trace, searches) for trace in traces)
            yield from chats_of_traces(traces, str(place), wording)


def add_ddaft(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train ddaft`."""
    paper = ImprovementRecipe()
    parser.add_argument("suite", help="what is tried: a suite, an episode, a folder or file")
    parser.add_argument("--out", type=Path, required=True, help="folder; resumes there")
    parser.add_argument(
        "--count", type=int, default=0, help="so many tasks, drawn at random; default: all"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="CLASS",
        help="no task whose words may mean a thing of this class; repeatable",
    )
    parser.add_argument(
        "--learner",
        choices=[*LEARNERS],
        default=CAUSAL,
        help="a language model for react, or the network of planner:=learned",
    )
    parser.add_argument("--model", type=Path, help="of causal: folder of the base model")
    parser.add_argument(
        "--start",
        type=Path,
        help="of network: its first weights; default: the shipped ones; of causal: an adapter, the "
        "first policy, with which each fit begins",
    )
    parser.add_argument(
        "--longest", type=int, default=0, help="of causal: learn no longer dialogues; 0 = all"
    )
    parser.add_argument(
        "--steps", type=int, default=ChooserRecipe().steps, help="of network: of each fit"
    )
    what = parser.add_argument_group("the algorithm")
    what.add_argument("--algorithm", choices=[*ALGORITHMS], default=paper.algorithm)
    what.add_argument("--iterations", type=int, default=paper.iterations)
    what.add_argument("--samples", type=int, default=paper.samples, help="of an iteration")
    what.add_argument(
        "--first-rounds",
        type=int,
        default=0,
        help="how often each task is tried at first; default: 1, or 5 for dart-math and dast",
    )
    what.add_argument("--softmax-alpha", type=float, default=paper.alpha, help="a of DDAFT")
    what.add_argument(
        "--softmax-mode", choices=[mode.value for mode in SoftmaxMode], default=paper.softmax_mode
    )
    what.add_argument(
        "--in-flight",
        type=int,
        default=paper.in_flight,
        help="roll-outs drawn before their outcomes are known; 1 = each knows all before it",
    )
    what.add_argument("--seed", type=int, default=paper.seed, help="of the draws")
    what.add_argument(
        "--evaluate",
        default=HELDOUT,
        metavar="SUITE",
        help=f"scored with each policy; {NOTHING} = no curve",
    )
    what.add_argument(
        "--evaluate-count",
        type=int,
        default=0,
        help="so many of them, drawn at random, the same in every run; default: all",
    )
    what.add_argument("--evaluation-rounds", type=int, default=paper.evaluation_rounds)
    runs = parser.add_argument_group("roll-outs")
    runs.add_argument("--temperature", type=float, default=0.7, help="of roll-outs; 0 to evaluate")
    runs.add_argument("--agents", type=int, default=1, help="acting agents; 0 = all")
    runs.add_argument("--memory", choices=memory_names(), default=MemoryKind.RAYS.value)
    runs.add_argument("--max-cycles", type=int, default=0, help="0 = the planner's default")
    runs.add_argument(
        "--played-by",
        default=LOCAL,
        metavar="MODEL",
        help=f"of causal: {LOCAL}, or llama.cpp with the same base, which is quicker on a CPU: "
        f"{SMOLLM2} or gguf:FILE",
    )
    add_seconds_flag(runs, MODEL_DEADLINE)
    runs.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of causal: an option of the planner, such as wording=short; repeatable",
    )
    add_engine_flags(runs)
    add_tuning(parser, DDAFT)


def run_ddaft(args: argparse.Namespace) -> int:
    """Runs an algorithm to its end and draws its curve."""
    recipe = _recipe(args)
    # Both are drawn without --seed, so that runs with other seeds try and are scored on the same.
    suite = find_suite(args.suite)
    suite = _drawn(naming(suite, args.without, named=False), args.count, "--count")
    held_out: tuple[SuiteEpisode, ...] = ()
    if args.evaluate != NOTHING:
        held_out = _drawn(find_suite(args.evaluate), args.evaluate_count, "--evaluate-count")
    _check_apart(args.suite, suite, args.evaluate, held_out)
    make_learner, settings_of = LEARNERS[args.learner]
    learner = make_learner(args)
    train = _rollouts(args, args.suite, suite, settings_of(args, _temperature(args)))
    scored = _rollouts(args, args.evaluate, held_out, settings_of(args, 0.0))
    field = Field(scored.tasks, scored) if held_out else None
    folder = args.out.absolute()
    curve = improve(recipe, Field(train.tasks, train), field, learner, folder, _print)
    if curve.points:
        draw_success_curves([curve]).save(args.out / PICTURE, format="PNG")
        print(f"{args.out / CURVE}, {args.out / PICTURE}: {len(curve.points)} policies")
    policy = args.out / f"iteration_{recipe.iterations + 1}" / "policy"
    print(f"the last policy: {policy}")
    return 0


def _drawn(suite: tuple[SuiteEpisode, ...], count: int, option: str) -> tuple[SuiteEpisode, ...]:
    if count < 0:
        raise PlannerError(f"{option} is {count}, below 0")
    return drawn(suite, count, seed=0)


def _recipe(args: argparse.Namespace) -> ImprovementRecipe:
    try:
        return ImprovementRecipe(
            algorithm=args.algorithm,
            iterations=args.iterations,
            samples=args.samples,
            first_rounds=args.first_rounds,
            alpha=args.softmax_alpha,
            softmax_mode=args.softmax_mode,
            in_flight=args.in_flight,
            evaluation_rounds=args.evaluation_rounds,
            seed=args.seed,
        )
    except ValueError as error:
        raise PlannerError(f"an option is out of its range: {error}") from None


def _check_apart(
    name: str, suite: Iterable[SuiteEpisode], other: str, held_out: Iterable[SuiteEpisode]
) -> None:
    """Refuses to score on what is learned from."""
    scored = {one_line(entry.instruction) for entry in held_out}
    both = [entry.episode_id for entry in suite if one_line(entry.instruction) in scored]
    if both:
        raise PlannerError(
            f"{len(both)} tasks of {name} have instructions of {other}, such as {both[0]}; "
            "scores on what was learned from say nothing"
        )


def _temperature(args: argparse.Namespace) -> float:
    if args.temperature < 0:
        raise PlannerError(f"--temperature is {args.temperature}, below 0")
    return float(args.temperature)


def _causal(args: argparse.Namespace) -> Learner:
    if args.model is None:
        raise PlannerError(f"--learner {CAUSAL} needs --model")
    return CausalLearner(
        args.model.absolute(),
        tuning_of(args),
        _print_progress,
        Trained(args.trained),
        targets_of(args),
        args.longest,
        args.start.absolute() if args.start else None,
    )


def _causal_settings(args: argparse.Namespace, temperature: float) -> SettingsOf:
    """The settings of roll-outs with a policy of `CausalLearner`."""
    is_local = args.played_by == LOCAL
    if not is_local and args.trained != Trained.ADAPTER:
        raise PlannerError(f"--played-by {args.played_by} needs --trained {Trained.ADAPTER}")
    given = named_values(args.option)
    declared = {option.name: option for option in PLANNERS.get(NUMBERED).options}
    if unknown := given.keys() - declared.keys():
        raise PlannerError(f"--option {min(unknown)}: {NUMBERED} has {', '.join(declared)}")
    options = {name: declared[name].read(text) for name, text in given.items()}

    def settings(policy: Path | None) -> RunSettings:
        model = args.model.absolute()
        adapter = args.start.absolute() if args.start else None
        if policy is not None and args.trained == Trained.ADAPTER:
            adapter = policy / (ADAPTER if is_local else f"{ADAPTER}{PACKED}")
        elif policy is not None:
            model = policy / MODEL
        return RunSettings(
            planner=NUMBERED,
            model=f"local:{model}" if is_local else absolute(args.played_by),
            model_options={
                "temperature": temperature,
                **({"device": args.device} if is_local else {}),
                **({"adapter": str(adapter)} if adapter else {}),
            },
            model_deadline_s=args.model_deadline,
            options=options,
            agents=args.agents,
            memory=args.memory,
            most_cycles=args.max_cycles,
        )

    return settings


def _network_start(args: argparse.Namespace) -> Path:
    return (args.start or shipped_planner()).absolute()


def _network(args: argparse.Namespace) -> Learner:
    if args.steps < 1:
        raise PlannerError(f"--steps is {args.steps}, below 1")
    recipe = ChooserRecipe(steps=args.steps, seed=args.tuning_seed, device=args.device)
    return NetworkLearner(_network_start(args), recipe, _print_chooser)


def _network_settings(args: argparse.Namespace, temperature: float) -> SettingsOf:
    """The settings of roll-outs with a policy of `NetworkLearner`."""
    if args.max_cycles:
        raise PlannerError("--max-cycles is for --learner causal")

    def settings(policy: Path | None) -> RunSettings:
        weights = _network_start(args) if policy is None else policy / MODEL_FILE
        return RunSettings(
            planner=NETWORK_PLANNER,
            options={"learned_model": str(weights), "learned_temperature": temperature},
            agents=args.agents,
            memory=args.memory,
            keeps_traces=True,
        )

    return settings


LEARNERS: Mapping[
    str,
    tuple[
        Callable[[argparse.Namespace], Learner], Callable[[argparse.Namespace, float], SettingsOf]
    ],
] = {CAUSAL: (_causal, _causal_settings), NETWORK: (_network, _network_settings)}


def _rollouts(
    args: argparse.Namespace, name: str, suite: tuple[SuiteEpisode, ...], settings_of: SettingsOf
) -> BenchRollouts:
    return BenchRollouts(
        name, suite, settings_of, lambda settings: make_engine(args, settings), _print_row
    )


def add_tuning(parser: argparse.ArgumentParser, paper: TuningRecipe) -> None:
    """Declares the numbers of a fine-tuning, with a paper's as defaults."""
    group = parser.add_argument_group("fine-tuning")
    group.add_argument(
        "--trained",
        choices=[kind.value for kind in Trained],
        default=Trained.ADAPTER.value,
        help="LoRA matrices as an adapter, merged into the model, or all weights",
    )
    group.add_argument("--targets", default=",".join(TARGETS), help="projections with LoRA")
    group.add_argument("--epochs", type=float, default=paper.epochs)
    group.add_argument(
        "--tuning-steps", type=int, default=paper.steps, help="of the optimiser; 0 = by the epochs"
    )
    group.add_argument("--batch", type=int, default=paper.batch)
    group.add_argument("--rate", type=float, default=paper.rate, help="highest learning rate")
    group.add_argument("--rank", type=int, default=paper.rank, help="of the LoRA matrices")
    group.add_argument("--alpha", type=int, default=paper.alpha, help="of the LoRA matrices")
    group.add_argument("--dropout", type=float, default=paper.dropout)
    group.add_argument("--tuning-seed", type=int, default=paper.seed)
    group.add_argument("--device", default=paper.device, help="torch device")
    group.add_argument("--save-every", type=int, default=paper.save_every, help="steps")


def tuning_of(args: argparse.Namespace) -> TuningRecipe:
    """The recipe that the arguments of `add_tuning` give.

    Raises:
        PlannerError: for a number that is out of range.
    """
    if min(args.epochs, args.rate) <= 0 or min(args.batch, args.rank, args.save_every) < 1:
        raise PlannerError("epochs, rate, batch, rank and save-every must be above 0")
    if args.tuning_steps < 0:
        raise PlannerError(f"--tuning-steps is {args.tuning_steps}, below 0")
    return TuningRecipe(
        rate=args.rate,
        alpha=args.alpha,
        rank=args.rank,
        dropout=args.dropout,
        batch=args.batch,
        epochs=args.epochs,
        seed=args.tuning_seed,
        device=args.device,
        save_every=args.save_every,
        steps=args.tuning_steps,
    )


def targets_of(args: argparse.Namespace) -> tuple[str, ...]:
    """The projections that get LoRA matrices."""
    return tuple(name.strip() for name in args.targets.split(",") if name.strip())


def _print_progress(at: TuningProgress) -> None:
    _print(f"step {at.step} of {at.steps}: loss {at.loss:.4f}, {at.elapsed_s:.0f} s")


def _print_chooser(at: ChooserProgress) -> None:
    _print(f"step {at.step}: loss {at.loss:.4f}, {at.right:.3f} of the calls as learned")


def _print_row(row: Row, count: int, of: int) -> None:
    if row.error is not None:
        came = f"{row.error.fault.value}: {row.error.text}"
    else:
        came = "solved" if row.verdict is not None and row.verdict.success else "not solved"
    _print(f"{count}/{of}  {row.episode_id} {row.seed}  {came}")


def _print(line: str) -> None:
    print(line, flush=True)
