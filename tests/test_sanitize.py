"""What is read out of the sanitizer's output, and the searches that it is run round."""

import pytest

import sanitize

RACES = "========= RACECHECK SUMMARY: 12 hazards displayed ({} errors, {} warnings)"


@pytest.mark.parametrize(
    ("output", "returncode", "meant", "text", "good"),
    [
        ("========= ERROR SUMMARY: 0 errors", 0, None, "ok", True),
        ("========= ERROR SUMMARY: 0 errors", 1, None, "failed", False),
        ("========= ERROR SUMMARY: 3 errors", 0, None, "3 errors", False),
        ("========= ERROR SUMMARY: 3 errors", 0, "why", "3 errors", False),
        (RACES.format(0, 12), 0, None, "12 warnings", True),
        (RACES.format(12, 0), 0, None, "12 errors", False),
        (RACES.format(12, 0), 0, "why", "meant", True),
        (RACES.format(12, 0), 1, "why", "12 errors", False),
        ("no summary", 0, "why", "failed", False),
    ],
)
def test_an_outcome_is_read_from_the_summary(output, returncode, meant, text, good):
    found = sanitize.outcome(output, returncode, meant)
    assert (found.text, found.good) == (text, good)


def test_meant_races_name_variants_and_tools():
    variants = {"/".join(pair) for pair in sanitize.gpu_variants()}
    for name in sanitize.MEANT:
        variant, tool = name.split(", ")
        assert variant in variants
        assert tool in sanitize.TOOLS
    assert set(sanitize.WAYS) <= variants


@pytest.mark.parametrize("variant", sorted(sanitize.WAYS))
def test_the_searches_hold_on_the_host(host_device, variant):
    sanitize.exercise(*variant.split("/"), host_device)
