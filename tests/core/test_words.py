"""Numbers in sentences."""

import pytest

from relaxometer.core.words import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1200, "1,200 runs")]
)
def test_the_noun_agrees_with_the_number(number, text):
    assert counted(number, "run") == text


def test_a_plural_may_be_irregular():
    assert [counted(number, "search", "searches") for number in (1, 2)] == ["1 search", "2 searches"]
