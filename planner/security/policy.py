"""What each identity may do: config/security/policy.yaml, parsed and validated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Annotated, Self

from pydantic import Field, model_validator

from planner.security import dds_names
from planner.security.dds_names import Rights
from planner.world.files import FileModel, read_model
from planner.world.share import config_dir

OPERATOR, VIEWER = "operator", "viewer"

# No other characters: names go into XML, and not every middleware supports brackets in patterns.
Name = Annotated[str, Field(pattern=r"^(/[A-Za-z0-9_*?]+)+$")]
NodePattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+\*?$")]
Identity = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class _Reserved(FileModel):
    publish: tuple[Name, ...] = ()
    request: tuple[Name, ...] = ()


class Listed(FileModel):
    """The permissions of one identity, by ROS names."""

    nodes: tuple[NodePattern, ...] = ()
    publish: tuple[Name, ...] = ()
    subscribe: tuple[Name, ...] = ()
    reply: tuple[Name, ...] = ()
    request: tuple[Name, ...] = ()
    execute: tuple[Name, ...] = ()
    call: tuple[Name, ...] = ()

    def rights(self) -> Rights:
        """Return the DDS topics that these permissions cover."""
        parameters = tuple(f"/{node}/*" for node in self.nodes)
        return (
            _together(dds_names.publication, self.publish)
            | _together(dds_names.publication, self.subscribe).reversed()
            | _together(dds_names.request, self.request)
            | _together(dds_names.request, (*self.reply, *parameters)).reversed()
            | _together(dds_names.call, self.call)
            | _together(dds_names.execute, self.execute)
        )


class Policy(FileModel):
    """The whole file.

    Attributes:
        operator_only: what only the operator's identity may do.
        everyone: what every identity may do in addition.
        identities: what each may do.
    """

    operator_only: _Reserved
    everyone: Listed
    identities: Mapping[Identity, Listed]

    @model_validator(mode="after")
    def _reserved_stays_reserved(self) -> Self:
        if OPERATOR not in self.identities:
            raise ValueError(f"there is no identity {OPERATOR}")
        reserved = self._reserved_rights.publish
        for name, rights in self.rights.items():
            if name == OPERATOR:
                continue
            for pattern in rights.publish:
                if any(dds_names.overlap(pattern, topic) for topic in reserved):
                    raise ValueError(
                        f"{name} may publish {pattern}, which is reserved for the operator"
                    )
        return self

    @cached_property
    def rights(self) -> Mapping[str, Rights]:
        """The rights of each identity, in DDS topics."""
        shared = self.everyone.rights() | Rights(
            frozenset({dds_names.DISCOVERY}), frozenset({dds_names.DISCOVERY})
        )
        return {
            name: listed.rights()
            | shared
            | (self._reserved_rights if name == OPERATOR else Rights())
            for name, listed in self.identities.items()
        }

    @property
    def _reserved_rights(self) -> Rights:
        return _together(dds_names.publication, self.operator_only.publish) | _together(
            dds_names.request, self.operator_only.request
        )


def _together(rule: Callable[[str], Rights], names: Iterable[str]) -> Rights:
    rights = Rights()
    for name in names:
        rights |= rule(name)
    return rights


@lru_cache(maxsize=1)
def shipped_policy() -> Policy:
    """Return the policy of config/security.

    Raises:
        FileError: if it cannot be read, or grants others what is reserved for the operator.
    """
    return read_model(config_dir() / "security" / "policy.yaml", Policy)
