"""Why a statement failed, in a sentence of a list (HELPER-D24).

An image-text model chooses the sentence that fits the picture at the failure best. The code of the
skill chooses one as well, and alone where there is no model. A diagnosis has both, so that they can
be compared with the true cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from papers.helper.programs.program import Method
from planner.memory.features import Features, ViewEncoder
from planner.memory.maps.object_map import ImageTextMatcher
from planner.skills.tools import load_view_encoder
from planner.world.errors import PlannerError
from planner.world.files import FileModel, read_model
from planner.world.observation import RgbImage
from planner.world.share import config_dir
from planner.world.skill import SkillCode


class Failure(FileModel):
    """One thing that may have gone wrong.

    Attributes:
        name: stable.
        sentence: what models read, and what pictures are compared with.
        codes: of skills that mean it; none = only a picture can show it.
        methods: of programs, with which they mean it; none = all.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z_]*$")]
    sentence: Annotated[str, Field(min_length=1, max_length=120)]
    codes: tuple[SkillCode, ...] = ()
    methods: tuple[Method, ...] = ()

    @field_validator("codes", mode="before")
    @classmethod
    def _by_name(cls, given: object) -> object:
        if not isinstance(given, list):
            return given
        unknown = [word for word in given if word not in SkillCode.__members__]
        if unknown:
            raise ValueError(f"there is no skill code {unknown[0]!r}")
        return [SkillCode[word] for word in given]


class FailureList(FileModel):
    """The sentences, in the order in which codes are looked up."""

    version: Literal[1]
    failures: tuple[Failure, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self) -> FailureList:
        for name, values in (
            ("name", [failure.name for failure in self.failures]),
            ("sentence", [failure.sentence for failure in self.failures]),
        ):
            twice = [value for value, count in Counter(values).items() if count > 1]
            if twice:
                raise ValueError(f"the {name} {twice[0]!r} is there twice")
        general = {code for one in self.failures if not one.methods for code in one.codes}
        missing = [code.name for code in SkillCode if code not in general | {SkillCode.SUCCESS}]
        if missing:
            raise ValueError(f"no entry without methods has the skill code {missing[0]}")
        return self

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """In the order of the list."""
        return tuple(failure.sentence for failure in self.failures)

    def by_code(self, code: SkillCode, method: Method | None) -> Failure:
        """The first entry for a skill's code and a program's method; None = of no method.

        Raises:
            PlannerError: for the code of a success.
        """
        for failure in self.failures:
            if code in failure.codes and (not failure.methods or method in failure.methods):
                return failure
        raise PlannerError(f"{code.name} is not a failure")


@lru_cache(maxsize=1)
def default_failures() -> FailureList:
    """The shipped list, config/programs/failures.yaml.

    Raises:
        FileError: naming the field and the reason.
    """
    return read_failures(config_dir() / "programs" / "failures.yaml")


def read_failures(path: Path) -> FailureList:
    """A list of one's own.

    Raises:
        FileError: naming the field and the reason.
    """
    return read_model(path, FailureList)


@dataclass
class EncodedMatcher:
    """Cosines of an image-text encoder; it reads each text once."""

    encoder: ViewEncoder
    _texts: dict[str, Features] = field(default_factory=dict)

    def score(self, image: RgbImage, texts: Sequence[str]) -> list[float]:
        """See `ImageTextMatcher`."""
        picture = self.encoder.picture(image)
        for text in texts:
            if text not in self._texts:
                self._texts[text] = self.encoder.text(text)
        return [float(picture @ self._texts[text]) for text in texts]


def load_matcher(folder: str) -> ImageTextMatcher | None:
    """The matcher of a folder with a SigLIP, CLIP or ALIGN class model; None for no folder.

    Raises:
        PlannerError: for another folder, or without the extra `vlm`.
    """
    encoder = load_view_encoder(folder)
    return None if encoder is None else EncodedMatcher(encoder)


class Diagnosed(StrEnum):
    """Who chose the sentence of a diagnosis."""

    BY_PICTURE = "picture"
    BY_CODE = "code"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a statement failed.

    Attributes:
        by_code: what the skill's code says.
        by_picture: what the picture says; None without a model or a picture.
        scores: of the picture, one a sentence of the list.
    """

    by_code: Failure
    by_picture: Failure | None = None
    scores: tuple[float, ...] = ()

    @property
    def chosen(self) -> Failure:
        """By the picture where there is one, as in the paper."""
        return self.by_picture or self.by_code

    @property
    def sentence(self) -> str:
        """F of the paper: what the prompt says and what corrections are found by."""
        return self.chosen.sentence

    @property
    def diagnosed(self) -> Diagnosed:
        """Who chose it."""
        return Diagnosed.BY_CODE if self.by_picture is None else Diagnosed.BY_PICTURE


def diagnose(
    code: SkillCode,
    method: Method | None,
    *,
    picture: RgbImage | None = None,
    matcher: ImageTextMatcher | None = None,
    failures: FailureList | None = None,
) -> Diagnosis:
    """The diagnosis of a failed statement; of equal scores the first sentence of the list.

    Args:
        code: of the skill that failed.
        method: of the statement; None = it was no method of an object.
        picture: of the hand camera at the failure, (h, w, 3) uint8.
        matcher: None = the code alone decides.
        failures: None = the shipped list.

    Raises:
        PlannerError: for the code of a success, or a matcher that does not score every sentence.
    """
    known = failures or default_failures()
    by_code = known.by_code(code, method)
    if picture is None or matcher is None:
        return Diagnosis(by_code)
    scores = tuple(float(score) for score in matcher.score(picture, known.sentences))
    if len(scores) != len(known.failures) or not np.isfinite(scores).all():
        raise PlannerError(
            f"the image-text model gave {len(scores)} scores for {len(known.failures)} sentences,"
            " or one that is not a number"
        )
    return Diagnosis(by_code, known.failures[int(np.argmax(scores))], scores)


@dataclass(frozen=True, slots=True)
class DiagnosisScores:
    """How often diagnoses named the true cause.

    Attributes:
        count: of diagnoses.
        pictures: of these, those with a picture's.
        right_by_code: named the true cause by the code.
        right_by_picture: named it by the picture.
        confused: (true cause, what the picture said) and how often, without the right ones.
    """

    count: int
    pictures: int
    right_by_code: int
    right_by_picture: int
    confused: tuple[tuple[tuple[str, str], int], ...]


def diagnosis_scores(diagnoses: Iterable[tuple[Diagnosis, str]]) -> DiagnosisScores:
    """Compares diagnoses with the names of the true causes."""
    pairs = list(diagnoses)
    seen = [(found.by_picture, cause) for found, cause in pairs if found.by_picture is not None]
    wrong = Counter((cause, failure.name) for failure, cause in seen if failure.name != cause)
    return DiagnosisScores(
        count=len(pairs),
        pictures=len(seen),
        right_by_code=sum(found.by_code.name == cause for found, cause in pairs),
        right_by_picture=sum(failure.name == cause for failure, cause in seen),
        confused=tuple(wrong.most_common()),
    )
