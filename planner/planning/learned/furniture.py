"""What the catalogue says of furniture by its class."""

from __future__ import annotations

from functools import lru_cache

from planner.world.catalogue import default_catalogue

_CLASSES = 512


@lru_cache(maxsize=_CLASSES)
def may_open(class_name: str) -> bool:
    """Whether it has doors or drawers."""
    cls = default_catalogue().furniture.get(class_name)
    return cls is not None and bool(cls.joints)


@lru_cache(maxsize=_CLASSES)
def has_inside(class_name: str) -> bool:
    """Whether things can be put into it."""
    cls = default_catalogue().furniture.get(class_name)
    return cls is not None and bool(cls.interiors)


@lru_cache(maxsize=_CLASSES)
def has_faucet(class_name: str) -> bool:
    """Whether things can be filled at it."""
    cls = default_catalogue().furniture.get(class_name)
    return cls is not None and cls.faucet is not None


@lru_cache(maxsize=_CLASSES)
def holds(class_name: str) -> bool:
    """Whether things can be on or in it; of an unknown class it is assumed."""
    cls = default_catalogue().furniture.get(class_name)
    return cls is None or bool(cls.surfaces or cls.interiors)


@lru_cache(maxsize=_CLASSES)
def shows(class_name: str) -> bool:
    """Whether things can lie openly on it; of an unknown class it is assumed."""
    cls = default_catalogue().furniture.get(class_name)
    if cls is None:
        return True
    return bool(cls.surfaces) or any(hollow.joint is None for hollow in cls.interiors)
