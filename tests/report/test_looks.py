"""Looks of variants and rivals, and the labels of logarithmic axes."""

from pathlib import Path

import pytest

from relaxometer.cli.all_runs import load_plan
from relaxometer.plan.models import RivalRun
from relaxometer.problems import problem as problems
from relaxometer.problems.variants import solver_names
from relaxometer.report import ticks
from relaxometer.report.catalogue import swept
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import LOOKS, RIVAL_LOOKS, look
from relaxometer.rivals.definition import find_rivals

ROOT = Path(__file__).parents[2]
# Suites of A/A tests race one program under several names, which need no looks.
SUITES = [None, *(one for one in sorted((ROOT / "config/suites").glob("*.yaml")) if one.stem[:2] != "aa")]


def shape(one):
    """What is left of a look in grey, without lines."""
    return one.marker, one.filling


def test_every_name_has_a_look_of_its_own():
    for problem in problems.problem_names():
        assert set(solver_names(problem)) <= set(LOOKS)
    assert set(find_rivals([])) <= set(RIVAL_LOOKS)
    own = [look(f"{'rival' if rival else 'variant'}-{n}", rival) for n in range(9) for rival in (False, True)]
    assert not set(map(shape, own)) & set(map(shape, [*LOOKS.values(), *RIVAL_LOOKS.values()]))
    assert len({(shape(one), one.colour, str(one.dash)) for one in own}) == len(own)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.stem if suite else "default")
def test_nothing_of_a_suite_collides_in_colour_or_in_grey(suite, monkeypatch):
    monkeypatch.chdir(ROOT)
    plan = load_plan([suite] if suite else [])
    hidden = set(swept(plan))
    for problem in problems.problem_names():
        runs = [run for run in plan.runs.values() if run.problem == problem and run.variant not in hidden]
        shown = {(run.variant, isinstance(run, RivalRun)) for run in runs}
        assert all(name in (RIVAL_LOOKS if rival else LOOKS) for name, rival in shown)
        found = [look(*one) for one in shown]
        assert len(set(map(shape, found))) == len(shown), "shapes tell them apart in grey"
        assert len({(one.colour, one.marker) for one in found}) == len(shown)


def labels_between(low, high):
    figure, axes = style.new_figure()
    axes.set(yscale="log", ylim=(low, high))
    style.plain_log(axes.yaxis)
    figure.canvas.draw()
    return [tick.get_text() for tick in axes.get_yticklabels() if tick.get_text()]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.93, 1.12, ["0.95", "1", "1.05", "1.1"]),
        (0.028, 0.65, ["0.03", "0.1", "0.3"]),
        (4.0, 45.0, ["5", "10", "20"]),
        (0.5, 3e7, ["1", "10", "100", "1,000", "10,000", "100,000", "10⁶", "10⁷"]),
        (1e-7, 1.0, ["0.0000001", "0.000001", "0.00001", "0.0001", "0.001", "0.01", "0.1", "1"]),
    ],
)
def test_ticks_are_plain_numbers_and_neither_few_nor_many(low, high, shown):
    labels = labels_between(low, high)
    assert len(labels) <= ticks.MAX_TICKS + 1
    assert set(labels) & set(shown)
    assert len(labels) >= 3
    assert not any("times" in label or "$" in label or "e" in label for label in labels)
    assert len(set(labels)) == len(labels)


def touching(axis):
    """The neighbouring labels of an axis whose boxes overlap."""
    labels = [tick.label1 for tick in axis.get_major_ticks() if tick.label1.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    pairs = zip(labels, labels[1:], boxes, boxes[1:], strict=False)
    return [(a.get_text(), b.get_text()) for a, b, first, second in pairs if first.overlaps(second)]


@pytest.mark.parametrize(("low", "high"), [(1.05e6, 4.2e6), (0.93, 1.12), (1, 1e9)])
def test_no_label_of_a_tick_covers_another(low, high):
    figure, (axes, *_) = style.new_figure(2.4, 3)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    style.plain_log(axes.xaxis, axes.yaxis)
    figure.draw_without_rendering()
    for axis in (axes.xaxis, axes.yaxis):
        assert touching(axis) == []
        assert sum(bool(tick.label1.get_text()) for tick in axis.get_major_ticks()) >= 2
