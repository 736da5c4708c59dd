"""What the tags of OpenStreetMap mean to a vehicle: access, directions, speeds.

References
----------
OpenStreetMap Wiki, "Key:access", "Key:maxspeed", "Key:oneway", "Key:duration",
https://wiki.openstreetmap.org/wiki/Key:access
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pydantic import Field, NonNegativeFloat, PositiveFloat

from relaxometer.core.validation import Section, validated

Tags = Mapping[str, str]
Values = dict[str, list[str]]

KM_PER_MILE, KM_PER_SEA_MILE = 1.609344, 1.852

GRANTED = ("yes", "designated", "permissive")
"""Values of the keys of access that allow a vehicle expressly."""

_LIMIT = re.compile(r"(\d{1,3}(?:\.\d+)?) *(km/h|kmh|kph|mph|knots)?")
_ZONE = re.compile(r"[a-z-]+:(?:zone:?)?(\d{1,3})")
_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,5})(?::(\d{1,2}))?")
_ISO = re.compile(r"pt(?:(\d{1,3})h)?(?:(\d{1,5})m)?(?:(\d{1,5})s)?")


class Profile(Section):
    """A vehicle on the roads; ``osm_profiles.yaml`` describes the keys."""

    names: list[str]
    closed: list[str]
    speeds: dict[str, PositiveFloat]
    allowed: dict[str, PositiveFloat] = Field(default={})
    ferry: PositiveFloat = 5
    limited_by: list[str] = Field(default=[])
    share_of_limit: PositiveFloat | None = None
    is_vehicle: bool
    one_way: Values = Field(default={})
    two_way: Values = Field(default={})
    granting: Values = Field(default={})
    excluded: Values = Field(default={})
    barriers: list[str] = Field(default=[])
    turn: NonNegativeFloat = 0
    turn_back: NonNegativeFloat = 0

    def keys(self, kind: str) -> list[str]:
        """Return the keys of ``oneway`` or ``restriction`` that hold for the vehicle, narrowest first."""
        return [*(f"{kind}:{name}" for name in self.names), *([kind] if self.is_vehicle else [])]

    @property
    def way_keys(self) -> list[str]:
        """All keys of a way that count, without repetition."""
        both = [*self.names, "access", *self.limited_by]
        directed = [f"{key}:{side}" for key in both for side in ("forward", "backward")]
        tested = [*self.one_way, *self.two_way, *self.granting, *self.excluded]
        return list(
            dict.fromkeys(["highway", "route", "duration", *both, *directed, *self.keys("oneway"), *tested])
        )


class _Profiles(Section):
    """The file of profiles."""

    limits: dict[str, PositiveFloat]
    profiles: dict[str, Profile]


@cache
def read_profiles() -> _Profiles:
    """Read the profiles, and what limits without a number stand for."""
    from relaxometer.core.yaml_files import read_yaml

    path = Path(__file__).with_name("osm_profiles.yaml")
    return validated(_Profiles, read_yaml(path), str(path))


def speeds_of(tags: Tags, profile: Profile) -> tuple[float, float]:
    """Return the speeds along a way and against it in km/h; 0 where it is closed."""
    is_ferry = tags.get("route") == "ferry"
    if _has_any(tags, profile.excluded):
        return 0.0, 0.0
    directions = _directions(tags, profile)
    forward, backward = (
        _speed(tags, profile, side, is_ferry=is_ferry) * is_open
        for side, is_open in zip(("forward", "backward"), directions, strict=True)
    )
    return forward, backward


def _speed(tags: Tags, profile: Profile, side: str, *, is_ferry: bool) -> float:
    access = _first(tags, [*profile.names, "access"], side)
    if access in profile.closed:
        return 0.0
    if is_ferry:
        return profile.ferry
    is_granted = access in GRANTED or _has_any(tags, profile.granting)
    speeds = profile.speeds | (profile.allowed if is_granted else {})
    usual = speeds.get(tags.get("highway", ""), 0.0)
    limits = map(limit_kmh, _all(tags, profile.limited_by, side))
    limit = next(filter(None, limits), None) if usual else None
    if limit is None:
        return usual
    return limit * profile.share_of_limit if profile.share_of_limit else min(limit, usual)


def _directions(tags: Tags, profile: Profile) -> tuple[bool, bool]:
    """Return whether the way may be used in the order of its nodes, and against it."""
    if _has_any(tags, profile.two_way):
        return True, True
    oneway = _first(tags, profile.keys("oneway"))
    if oneway == "reversible":
        return False, False
    if oneway in ("-1", "reverse"):
        return False, True
    if oneway in ("no", "false", "0", "alternating"):
        return True, True
    return True, not (oneway in ("yes", "true", "1") or _has_any(tags, profile.one_way))


def is_barrier(tags: Tags, profile: Profile) -> bool:
    """Return whether a node stops the vehicle; access to a crossing is about those who cross its road."""
    access = _first(tags, [*profile.names, "access"])
    is_closed = access in profile.closed
    if access and not (is_closed and profile.is_vehicle and tags.get("highway") == "crossing"):
        return is_closed
    return tags.get("barrier") in profile.barriers


def limit_kmh(text: str) -> float | None:
    """Return a speed limit in km/h, of several the lowest, or None if it cannot be read."""
    known = [kmh for part in text.lower().split(";") if (kmh := _one_limit(part.strip()))]
    return min(known, default=None)


def _one_limit(text: str) -> float | None:
    if found := _LIMIT.fullmatch(text):
        units = {"mph": KM_PER_MILE, "knots": KM_PER_SEA_MILE}
        return float(found[1]) * units.get(found[2], 1)
    if found := _ZONE.fullmatch(text):
        return float(found[1])
    limits = read_profiles().limits
    return limits.get(text) or limits.get(text.partition(":")[2])


def duration_s(tags: Tags) -> float:
    """Return the duration of a ferry in seconds, or 0 if it cannot be read.

    Its forms are ``1:30``, ``01:30:00``, ``90`` (minutes) and ``PT1H30M``.
    """
    text = tags.get("duration", "").lower() if tags.get("route") == "ferry" else ""
    found = _CLOCK.fullmatch(text) or _ISO.fullmatch(text)
    hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    return 3600.0 * hours + 60 * minutes + seconds


def _has_any(tags: Tags, values: Values) -> bool:
    return any(tags.get(key) in known for key, known in values.items())


def _all(tags: Tags, keys: Iterable[str], side: str = "") -> list[str]:
    """Return the values of keys in their order, each after that of its own for the direction."""
    named = [name for key in keys for name in (f"{key}:{side}", key)]
    return [tags[name] for name in named if name in tags]


def _first(tags: Tags, keys: Iterable[str], side: str = "") -> str | None:
    return next(iter(_all(tags, keys, side)), None)
