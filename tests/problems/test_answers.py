"""Arrays that are allocated before an answer needs them."""

import pytest

from relaxometer.device import DeviceOutOfMemory
from relaxometer.problems.answers import Ahead


class Memory:
    """Gives out numbers instead of arrays, until it is short."""

    def __init__(self):
        self.given, self.used, self.short = 0, [], False

    def allocate(self):
        if self.short:
            raise DeviceOutOfMemory("no more")
        self.given += 1
        return self.given


@pytest.fixture
def memory():
    return Memory()


def test_no_arrays_are_given_twice_and_all_are_used_before(memory):
    ahead = Ahead(memory.allocate, memory.used.append)
    for search in range(1, 4):
        assert ahead.take() == search
        assert memory.used[-1] == search
        ahead.prepare()
        ahead.prepare()
    assert memory.used == [1, 2, 3, 4]


def test_the_search_under_way_does_not_fail_for_the_next_one(memory):
    ahead = Ahead(memory.allocate, memory.used.append)
    assert ahead.take() == 1
    memory.short = True
    ahead.prepare()
    with pytest.raises(DeviceOutOfMemory, match="no more"):
        ahead.take()
    memory.short = False
    assert ahead.take() == 2
