"""PARTNR's subcommands of `planner bench`, whose modules are imported when they are called."""

from planner.parts.command import CommandPart

_of = CommandPart.of_module

VALIDATION = _of(
    "papers.partnr.validation_split", "PARTNR's own validation split, from its data set"
)
CLAIMS = _of("papers.partnr.claims", "PARTNR's eight claims beside runs")
EXAMPLES = _of(
    "papers.partnr.solved",
    "solved episodes as examples for partnr_rag",
    "add_examples",
    "run_examples",
)
SAMPLES = _of(
    "papers.partnr.solved",
    "solved episodes as samples for partnr_finetuned",
    "add_samples",
    "run_samples",
)
