"""What a run's model calls cost, by the prices that the user gives."""

from __future__ import annotations

from dataclasses import replace

from planner.models.price_table import PriceTable
from planner.replay.report.document import BagReport


def priced(report: BagReport, prices: PriceTable | None) -> BagReport:
    """The report with the cost of each call; as it is without prices."""
    if prices is None:
        return report
    calls = tuple(
        replace(
            call,
            cost=prices.cost(call.model, call.prompt_tokens, call.cached_tokens, call.reply_tokens),
        )
        for call in report.model_calls
    )
    return replace(report, model_calls=calls, currency=prices.currency)
