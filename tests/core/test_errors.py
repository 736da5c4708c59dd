"""Foreign text and numbers in messages."""

import pytest

from relaxometer.core.errors import MAX_QUOTED, UserError, naming_lacks, quoted
from relaxometer.core.words import counted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("p sp 3 4", "'p sp 3 4'"),
        ("straße\x1b]0;title\x07\r\n\u202e\ud800", r"'straße\x1b]0;title\x07\r\n\u202e\ud800'"),
        ("x" * 78, f"'{'x' * 78}'"),
        ("x" * 79, f"'{'x' * 75}...'"),
        (17, "'17'"),
    ],
)
def test_foreign_text_is_short_and_without_control_characters(text, shown):
    assert quoted(text) == shown


@pytest.mark.parametrize("text", ["\x00" * 1000, "\U000e0001" * 70, "'\"" * 1000])
def test_escapes_count_and_stay_whole(text):
    shown = quoted(text)
    assert len(shown) <= MAX_QUOTED
    assert shown.endswith("...'")
    assert eval(shown).removesuffix("...") == text[: len(eval(shown)) - 3]


def test_a_file_or_folder_in_the_way_is_named(tmp_path):
    (tmp_path / "there").write_text("")
    with pytest.raises(UserError, match="there: File exists; name another target"), naming_lacks():
        (tmp_path / "there").mkdir()
    with pytest.raises(UserError, match=r"Is a directory; name a file, then run again"), naming_lacks():
        tmp_path.read_text()


def test_the_noun_agrees_with_the_number():
    assert [counted(number, "run") for number in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]
    assert counted(2, "search", "searches") == "2 searches"
