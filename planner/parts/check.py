"""The findings of a part's conformance check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The result of a check."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's verdict; `text` says what is wrong, or why the check was skipped."""

    check: str
    verdict: Verdict
    text: str = ""


def checked(check: str, problem: Callable[[], str]) -> Finding:
    """The finding of a check that returns what is wrong, or ""."""
    try:
        found = problem()
    # Whatever another package's part raises is a finding, not the end of the check.
    except Exception as error:
        found = f"raised {error!r}"
    return Finding(check, Verdict.FAILED if found else Verdict.PASSED, found)


@dataclass(frozen=True, slots=True)
class Report:
    """All findings of one run."""

    findings: tuple[Finding, ...]

    @property
    def conforms(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> dict[str, str]:
        """What is wrong, by the check's name."""
        return {f.check: f.text for f in self.findings if f.verdict is Verdict.FAILED}

    def table(self) -> str:
        """One line per check."""
        width = max(len(f.check) for f in self.findings)
        return "\n".join(
            f"{f.verdict:<8} {f.check:<{width}}  {f.text}".rstrip() for f in self.findings
        )
