"""What a decision of SmolLM2 costs within a dialogue, and how often it is that of a run.

Repeat with: python benchmarks/bench_small_model.py RUN [--adapter react] [--turns 20]

RUN is a folder of `planner bench` with `--planner react`, such as one with `--model teacher`. Its
dialogues are told to the model call by call, with the grammar of each, as the planner would: the
next prompt has the run's reply, not the model's. Tokens are the engine's own counts; CPU seconds
are those of its process, which a busy machine changes less than those by the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from machine import print_table

from planner.models.chat import Completion, Message, Request, Speaker
from planner.models.gguf import Engine, GgufModel, shipped_adapters, smollm2_file
from planner.models.recorded import Dialogue, Turn, read_dialogue
from planner.models.replies.turn import END_OF_TURN

# As the planner allows a turn without thoughts.
MOST_TOKENS = 64
Row = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Decided:
    """One call of the model: `is_first` of its dialogue, `is_runs` = what the run said."""

    reply: Completion
    cpu_s: float
    is_first: bool
    is_runs: bool

    @property
    def anew(self) -> int:
        """Tokens of the prompt that were not in the slot."""
        return self.reply.usage.prompt_tokens - self.reply.usage.cached_tokens


def cpu_s(pid: int | None) -> float:
    """What a process has used until now; 0 = it does not run yet."""
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid: int | None) -> int:
    """The most memory that a process had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:"))


async def decided(model: GgufModel, turn: Turn, *, is_first: bool) -> Decided:
    messages = tuple(Message(each.speaker, each.text) for each in turn.messages)
    request = Request(messages, grammar=turn.grammar, max_tokens=MOST_TOKENS, deadline_s=3600.0)
    # The process starts with its first call, whose loading of the model is no decision's.
    before_s = cpu_s(model.pid)
    reply = await model.complete(request)
    said, told = (text.partition(END_OF_TURN)[0].strip() for text in (reply.text, turn.line.reply))
    return Decided(reply, cpu_s(model.pid) - before_s, is_first, said == told)


async def measured(
    model: GgufModel, dialogues: Iterable[Dialogue], most: int
) -> tuple[list[Decided], int]:
    await model.complete(Request((Message(Speaker.USER, "Hello."),), max_tokens=1))
    found = []
    for dialogue in dialogues:
        turns = [turn for turn in dialogue.turns if turn.line.is_answered][: most or None]
        for number, turn in enumerate(turns):
            found.append(await decided(model, turn, is_first=number == 0))
    memory = peak_mib(model.pid)
    await model.close()
    return found, memory


def spread(values: Sequence[float], form: str) -> str:
    """The median, and what nine in ten are below."""
    ordered = sorted(values)
    ninth = ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)]
    return f"{statistics.median(ordered):{form}}; nine in ten below {ninth:{form}}"


def rows_of(all_of: Sequence[Decided], memory_mib: int) -> list[Row]:
    later = [one for one in all_of if not one.is_first]
    first = [one for one in all_of if one.is_first]
    usages = [one.reply.usage for one in later]
    whole = sum(usage.prompt_tokens for usage in usages)
    times = [one.reply.timings for one in later]
    first_s, total_s = sum(t.first_token_s for t in times), sum(t.total_s for t in times)
    written = sum(usage.reply_tokens - 1 for usage in usages)
    return [
        ("decisions", f"{len(all_of)}, {len(first)} of them the first of a dialogue", ""),
        ("tokens of a later prompt", spread([u.prompt_tokens for u in usages], ".0f"), ""),
        ("... in the slot", f"{sum(u.cached_tokens for u in usages) / whole:.3f}", "at least 0.9"),
        ("... read anew", spread([one.anew for one in later], ".0f"), ""),
        ("tokens written", spread([u.reply_tokens for u in usages], ".0f"), ""),
        ("CPU of a later decision, s", spread([one.cpu_s for one in later], ".2f"), "below 1.5"),
        ("CPU of a first one, s", spread([one.cpu_s for one in first], ".2f"), ""),
        ("a later decision by the clock, s", spread([t.total_s for t in times], ".2f"), ""),
        ("... its first token, s", spread([t.first_token_s for t in times], ".2f"), ""),
        ("... decisions a minute", f"{60 * len(later) / total_s:.0f}", ""),
        ("tokens read a second", f"{sum(one.anew for one in later) / first_s:.0f}", ""),
        ("tokens written a second", f"{written / (total_s - first_s):.0f}", ""),
        ("memory, peak", f"{memory_mib} MiB", ""),
        ("replies that are the run's", f"{statistics.mean(d.is_runs for d in all_of):.2f}", ""),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a run's folder")
    parser.add_argument("--adapter", default="", help="a GGUF file, or the name of one that ships")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=0, help="the first ones of the run; 0 = all")
    parser.add_argument("--turns", type=int, default=0, help="of each dialogue; 0 = all")
    args = parser.parse_args()
    paths = sorted((args.run / "traces").glob("*.dialogue.jsonl"))[: args.tasks or None]
    adapter = shipped_adapters().get(args.adapter, Path(args.adapter))
    engine = Engine(
        str(smollm2_file()), (str(adapter),) if args.adapter else (), threads=args.threads
    )
    model = GgufModel(engine, "smollm2", adapter=0 if args.adapter else -1)
    found, memory = asyncio.run(measured(model, map(read_dialogue, paths), args.turns))
    print_table(f"decisions of smollm2, adapter {args.adapter or 'none'}", rows_of(found, memory))


if __name__ == "__main__":
    main()
