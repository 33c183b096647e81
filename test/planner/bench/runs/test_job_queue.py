"""The jobs of a house stay with one worker as long as there are houses for all."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from planner.bench.runs.job_queue import JobQueue
from planner.bench.runs.suites import Job


def _jobs(*houses: str) -> list[Job]:
    return [Job(Path("x"), f"e{i}", house, i) for i, house in enumerate(houses)]


def test_a_worker_stays_in_its_house_and_helps_only_where_none_is_fresh() -> None:
    queue = JobQueue(_jobs("a", "a", "a", "b", "c", "c"))
    assert len(queue) == 6

    def taken(house: str) -> str:
        job = queue.next(house)
        assert job is not None
        return job.house

    # Two workers in turns; the second has done with its house first.
    assert [taken(""), taken("")] == ["a", "b"]
    assert [taken("a"), taken("b")] == ["a", "c"]
    assert taken("c") == "c"
    assert taken("c") == "a", "no house is fresh"
    assert queue.next("a") is None
    assert not queue


@given(st.lists(st.sampled_from("abcd"), max_size=20))
def test_each_job_is_given_once(houses: list[str]) -> None:
    jobs = _jobs(*houses)
    queue = JobQueue(jobs)
    last = ["", "", ""]
    found = []
    while True:
        who = len(found) % 3
        job = queue.next(last[who])
        if job is None:
            break
        last[who] = job.house
        found.append(job)
    assert sorted(found, key=lambda job: job.seed) == jobs
    for house in "abcd":
        seeds = [job.seed for job in found if job.house == house]
        assert seeds == sorted(seeds), "the jobs of a house keep their order"
