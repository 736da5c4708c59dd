"""Numbers in sentences."""

from relaxometer.core.words import counted


def test_the_noun_agrees_with_the_number():
    assert [counted(number, "run") for number in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]
    assert counted(2, "search", "searches") == "2 searches"
