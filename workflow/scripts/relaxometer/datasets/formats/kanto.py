"""A synthetic map like the road and railway map of Kanto that the adaptive paper searches."""

from relaxometer.datasets.formats import Format

_MODULE = "relaxometer.datasets.generators.kanto"

FORMATS = {
    "kanto-like": Format(_MODULE, "kanto_like", needs="seed"),
    "kanto-like-main": Format(_MODULE, "build_main_roads", needs="extracted_from"),
}
