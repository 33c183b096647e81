"""Benchmarks: suites of episodes, scores of memories, agreement of simulators."""
