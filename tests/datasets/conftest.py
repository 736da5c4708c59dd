"""One database for all extracts of OpenStreetMap: it takes seconds to load its extension."""

from functools import cache

import pytest

from relaxometer.datasets.readers import osm_pbf

opened = cache(osm_pbf._database_with_spatial)


@pytest.fixture(autouse=True)
def _one_database(monkeypatch):
    monkeypatch.setattr(osm_pbf, "_database_with_spatial", lambda: opened().cursor())
