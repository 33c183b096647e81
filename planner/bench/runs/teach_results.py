"""The numbers that HELPER's paper prints (HELPER-T1 to HELPER-T4), in percent."""

from __future__ import annotations

from collections.abc import Mapping

# Plain, and weighted by the length of the reference.
Pair = tuple[float, float]

SYSTEM_COLUMNS = (
    "no in-domain LLM",
    "memory-augmented LLM",
    "personalization",
    "accepts feedback",
    "VLM correction",
    "LLM search",
    "pre-condition check",
)
# HELPER-T1
SYSTEMS: Mapping[str, str] = {
    "E.T.": ".......",
    "JARVIS": ".......",
    "FILM": ".......",
    "DANLI": "......x",
    "LLM-Planner": "xx.....",
    "Code as Policies": "x......",
    "HELPER": "xxxxxxx",
}

GROUPS = ("tfd unseen", "tfd seen", "edh unseen", "edh seen")
# HELPER-T2: SR and GC of each group, in this order.
METHODS: Mapping[str, tuple[Pair, ...]] = {
    "E.T.": ((0.48, 0.12), (0.35, 0.59), (1.02, 0.17), (1.42, 4.82), (7.8, 0.9), (9.1, 1.7), (10.2, 1.7), (15.7, 4.1)),  # noqa: E501
    "JARVIS": ((1.80, 0.30), (3.10, 1.60), (1.70, 0.20), (5.40, 4.50), (15.80, 2.60), (16.60, 8.20), (15.10, 3.30), (22.60, 8.70)),  # noqa: E501
    "FILM": ((2.9, 1.0), (6.1, 2.5), (5.5, 2.6), (5.8, 11.6), (10.2, 1.0), (18.3, 2.7), (14.3, 2.1), (26.4, 5.6)),  # noqa: E501
    "DANLI": ((7.98, 3.20), (6.79, 6.57), (4.97, 1.86), (10.50, 10.27), (16.98, 7.24), (23.44, 19.95), (17.76, 9.28), (24.93, 22.20)),  # noqa: E501
    "HELPER": ((13.73, 1.61), (14.17, 4.56), (12.15, 1.79), (18.62, 9.28), (17.40, 2.91), (25.86, 7.90), (18.59, 4.00), (32.09, 9.81)),  # noqa: E501
}  # fmt: skip
# HELPER-T2, TfD unseen: SR and GC.
VARIANTS: Mapping[str, tuple[Pair, Pair]] = {
    "HELPER": ((13.73, 1.61), (14.17, 4.56)),
    "w/o Mem Aug": ((11.27, 1.39), (11.09, 4.00)),
    "w/o Pre Check": ((11.6, 1.36), (11.32, 4.15)),
    "w/o Correction": ((12.9, 1.53), (12.45, 4.91)),
    "w/o LOCATOR": ((12.09, 1.29), (10.89, 3.83)),
    "w/ GPT-3.5": ((9.48, 1.21), (10.05, 3.68)),
    "w/ GT depth": ((15.85, 2.85), (14.49, 6.89)),
    "w/ GT depth, seg": ((22.55, 6.39), (30.00, 14.56)),
    "w/ GT percept": ((30.23, 9.12), (50.46, 20.24)),
    "w/ Feedback 1": ((16.34, 1.67), (14.70, 4.69)),
    "w/ Feedback 2": ((17.48, 1.97), (14.93, 4.74)),
    "w/ GT percept, Feedback 2": ((37.75, 10.96), (56.77, 19.80)),
}
# HELPER-T3: of ten plans by the number of changes.
CHANGES: Mapping[int, float] = {0: 100.0, 1: 100.0, 2: 80.0, 3: 90.0}
SPLITS = ("val unseen", "val seen", "test unseen", "test seen")
# HELPER-T4: EDH on the alternative split, SR and GC of each part.
OTHER_SPLIT: Mapping[str, tuple[Pair, ...]] = {
    "E.T.": ((8.35, 0.86), (6.34, 3.69), (8.28, 1.13), (8.72, 3.82), (7.38, 0.97), (6.06, 3.17), (8.82, 0.29), (9.46, 3.03)),  # noqa: E501
    "DANLI": ((17.25, 7.16), (23.88, 19.38), (16.89, 9.12), (25.10, 22.56), (16.71, 7.33), (23.00, 20.55), (18.63, 9.41), (24.77, 21.90)),  # noqa: E501
    "HELPER": ((17.25, 3.22), (25.24, 8.12), (19.21, 4.72), (33.54, 10.95), (17.55, 2.59), (26.49, 7.67), (17.97, 3.44), (30.81, 8.93)),  # noqa: E501
}  # fmt: skip
