"""The status of an answer, from the rules that it breaks."""

import pytest

from relaxometer.problems.certificate import Certificate

TOO_LONG = "it is too long"


@pytest.mark.parametrize(
    ("violations", "overflowed", "status"),
    [
        ({"left_out": 0, "predecessor": 0}, True, "ok"),
        ({"left_out": 2, "predecessor": 0}, True, "error"),
        ({"left_out": 2, "predecessor": 0}, False, "invalid"),
        ({"left_out": 2, "predecessor": 7}, True, "invalid"),
        ({"left_out": 0, "predecessor": 7}, True, "invalid"),
    ],
)
def test_an_answer_that_is_wrong_in_another_way_is_not_too_long_only(violations, overflowed, status):
    certificate = Certificate(violations, dict.fromkeys(violations, 3))
    reasons = {"ok": "", "error": TOO_LONG, "invalid": certificate.reason}
    assert certificate.outcome(overflowed=overflowed, too_long=TOO_LONG) == (status, reasons[status])


def test_the_rule_that_a_path_too_long_breaks_may_have_another_name():
    certificate = Certificate({"overstretched": 1, "left_out": 0}, {"overstretched": 3})
    given = {"overflowed": True, "too_long": TOO_LONG}
    assert certificate.outcome(**given, rule="overstretched") == ("error", TOO_LONG)
    assert certificate.outcome(**given)[0] == "invalid"
