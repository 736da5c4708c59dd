"""A few hand-made railways in the format of Japan's national railway data (N02)."""

import json
import zipfile
from pathlib import Path
from typing import Any

# Track along a parallel, with a second track between the first two stations, and a branch that leaves between
# stations.
MAIN = ("中央線", "東日本旅客鉄道")
# Crosses the main line at (139.710, 35.701), where passengers cannot change.
SUBWAY = ("2号線", "東京都")
MONORAIL = ("沖縄都市モノレール線", "沖縄都市モノレール")

WEST = [[139.700, 35.700], [139.702, 35.700]]
MIDDLE = [[139.718, 35.700], [139.720, 35.700], [139.721, 35.700]]
EAST = [[139.740, 35.700], [139.742, 35.700]]
NORTH = [[139.730, 35.710], [139.730, 35.712]]
SOUTH = [[139.710, 35.690], [139.710, 35.691]]
MIDDLE_BELOW = [[139.7195, 35.7005], [139.7205, 35.7008]]
NAHA = [[127.67948, 26.21454], [127.6797, 26.21474]]
SHURI = [[127.72, 26.22], [127.721, 26.22]]
FORK = [139.730, 35.700]

SECTIONS = [
    (MAIN, WEST),
    (MAIN, [WEST[-1], [139.710, 35.701], MIDDLE[0]]),
    (MAIN, [WEST[-1], [139.710, 35.6999], MIDDLE[0]]),
    (MAIN, MIDDLE),
    (MAIN, [MIDDLE[-1], FORK]),
    (MAIN, [FORK, EAST[0]]),
    (MAIN, EAST),
    (MAIN, [FORK, NORTH[0]]),
    (MAIN, NORTH),
    (SUBWAY, SOUTH),
    (SUBWAY, [SOUTH[-1], [139.710, 35.701], [139.712, 35.705], MIDDLE_BELOW[0]]),
    (SUBWAY, MIDDLE_BELOW),
    (MONORAIL, NAHA),
    (MONORAIL, [NAHA[-1], SHURI[0]]),
    (MONORAIL, SHURI),
]
"""Line and places, including the pieces along platforms."""

STATIONS = [
    (MAIN, WEST, "西", "003001", "003001"),
    (MAIN, MIDDLE, "中", "003002", "003002"),
    (MAIN, EAST, "東", "003003", "003003"),
    (MAIN, NORTH, "北", "003004", "003004"),
    (SUBWAY, SOUTH, "南", "003100", "003100"),
    (SUBWAY, MIDDLE_BELOW, "中", "003101", "003002"),
    (MONORAIL, NAHA, "那覇", "010001", "010001"),
    (MONORAIL, SHURI, "首里", "010002", "010002"),
]
"""Line, places of the platform, name, code and code of the group."""


def feature(properties: dict[str, str], places: list[list[float]]) -> dict[str, Any]:
    """Return a GeoJSON feature that is a line."""
    geometry = {"type": "LineString", "coordinates": places}
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def railway_layers() -> dict[str, list[dict[str, Any]]]:
    """Return the features of both layers."""
    sections, stations = [], []
    for (line, operator), places in SECTIONS:
        properties = {"N02_001": "11", "N02_002": "2", "N02_003": line, "N02_004": operator}
        sections.append(feature(properties, places))
    for (line, operator), places, name, code, group in STATIONS:
        properties = {"N02_001": "11", "N02_002": "2", "N02_003": line, "N02_004": operator}
        properties |= {"N02_005": name, "N02_005c": code, "N02_005g": group}
        stations.append(feature(properties, places))
    return {"RailroadSection": sections, "Station": stations}


def write_railways(path: Path, layers: dict[str, Any] | None = None) -> Path:
    """Write layers as an archive like ``N02-24_GML.zip``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("KS-META-N02-24.xml", "<metadata/>")
        for layer, features in (layers or railway_layers()).items():
            content = {"type": "FeatureCollection", "name": f"N02-24_{layer}", "features": features}
            text = json.dumps(content, ensure_ascii=False)
            archive.writestr(f"Shift-JIS/N02-24_{layer}.geojson", text.encode("cp932"))
            archive.writestr(f"UTF-8/N02-24_{layer}.geojson", text)
    return path
