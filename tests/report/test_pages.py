"""Pages with tables that sort and filter, the lead of the landing page, and the pages of variants."""

import html
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from relaxometer.plan.plan import Plan
from relaxometer.report import catalogue, pages, variant_pages
from relaxometer.report.figures import claims, pareto, roofline, summary
from relaxometer.report.figures.lead import ALONE, NOBODY, ONE_SIDE, sentences
from relaxometer.report.figures.names import LEAST_PREPARATION_MS, short_names
from relaxometer.results.samples import with_class
from synthetic_runs import phases, rival, searches, spread, summary_of

ROOT = Path(__file__).parents[2]

TABLE = pd.DataFrame(
    {
        "Variant": ["near-far", "phast", "boost", "tiled"],
        "Median [ms]": ["2.09", "1,341", "", "15.6"],
        "Interval": ["1.9 to 2.2", "1,300 to 1,400", "never", "15 to 16"],
        "Home": ["https://example.org/a", "", "", ""],
    }
)


def default_plan(*, gpu=True, **options):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    return Plan(config | options, ROOT / "resources/datasets.yaml", gpu=gpu)


def column(chromium, number):
    cells = chromium.find_elements("css selector", f"tbody tr:not([hidden]) td:nth-child({number})")
    return [cell.text for cell in cells]


class TestTables:
    """Tables of a page, in a browser."""

    @pytest.fixture
    def show(self, chromium, tmp_path):
        def shown(rows):
            page = tmp_path / "page.html"
            # A name that begins with a digit is no CSS selector.
            page.write_text(pages.table_page("Times", "<p>Note</p>", rows, "2-times"), encoding="utf-8")
            chromium.get(page.as_uri())
            return chromium

        return shown

    @pytest.mark.parametrize(
        ("head", "first", "second"),
        [
            ("Median [ms]", ["2.09", "15.6", "1,341", ""], ["1,341", "15.6", "2.09", ""]),
            ("Median edges/s", ["1,341", "15.6", "2.09", ""], ["2.09", "15.6", "1,341", ""]),
            ("Interval", ["1.9 to 2.2", "15 to 16", "1,300 to 1,400", "never"], None),
            ("Version", ["1.9", "1.9.2", "1.17.1", "2.0", "nightly"], None),
            ("Date", ["2025-11-30", "2026-01-02", "2026-01-10"], None),
        ],
    )
    def test_a_click_puts_the_best_first_and_the_next_one_turns_the_order(self, show, head, first, second):
        opened = show(pd.DataFrame({head: sorted(first)}))
        head = opened.find_element("css selector", "th")
        head.find_element("tag name", "button").click()
        assert column(opened, 1) == first
        before = head.get_attribute("aria-sort")
        head.find_element("tag name", "button").click()
        assert second is None or column(opened, 1) == second
        assert {before, head.get_attribute("aria-sort")} == {"ascending", "descending"}

    def test_words_filter_rows_and_are_counted(self, show):
        opened = show(TABLE)
        box, count = (opened.find_element("css selector", f".filter {tag}") for tag in ("input", "output"))
        assert count.text == "4 of 4 rows"
        box.send_keys("AR")
        assert column(opened, 1) == ["near-far"]
        assert count.text == "1 of 4 rows"
        box.clear()
        box.send_keys("t -phast")
        assert column(opened, 1) == ["near-far", "boost", "tiled"]

    def test_the_table_can_be_saved_and_its_addresses_are_links(self, show):
        opened = show(TABLE)
        save = opened.find_element("css selector", ".filter a")
        assert save.get_attribute("download") == "2-times.csv"
        assert save.get_attribute("href").startswith("data:text/csv;base64,")
        assert opened.find_element("css selector", "tbody a").get_attribute("href") == "https://example.org/a"


def test_a_page_holds_all_that_it_shows_and_captions_become_html(tmp_path):
    picture = tmp_path / "a.svg"
    picture.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    page = pages.page("Title", pages.image(picture, "A figure") + pages.data_table(TABLE, "times"))
    assert 'alt="A figure"' in page
    for address in re.findall(r'(?:href|src)="([^"]*)"', page):
        assert address.startswith(("data:", "https://example.org/"))
    text = "A *rank* of ``a < b`` and `x`.\n\nSecond."
    assert pages.from_caption(text) == (
        "<p>A <em>rank</em> of <code>a &lt; b</code> and <code>x</code>.</p>\n<p>Second.</p>"
    )


class TestLead:
    """The three sentences."""

    def test_the_winner_is_named_with_factor_preparation_and_machine(self):
        table = pd.concat([searches("tiled", spread(2)), rival("boost", spread(10), prepare_ms=3.0)])
        outcome, certainty, machine = sentences(summary_of(table), table, "2026-01-02")
        for said in (
            "In one race of our best program against the best rival, our programs won 1: 5 times",
            "in SSSP on town (95% interval 4.6 to 5.44; tiled, 2 ms after 0.5 ms of preparation, ",
            "against boost 1.2, 10 ms after 3 ms of preparation)",
        ):
            assert said in outcome
        assert "test over 12 common samples tells" in certainty
        assert "48 of 48 answers were proven correct" in certainty
        raced = "SSSP on town by 2 programs"
        assert machine == f"Measured on NVIDIA X and CPU X, 2026-01-02: {raced}."

    def test_wins_of_rivals_and_races_without_a_difference_are_counted(self):
        means = {"a": (10, 5), "b": (30, 10), "same": (1, 1)}
        lost = [searches("tiled", spread(ours), graph=graph) for graph, (ours, _) in means.items()]
        theirs = [rival("boost", spread(mean), graph=graph) for graph, (_, mean) in means.items()]
        table = pd.concat([*lost, *theirs])
        outcome, *_ = sentences(summary_of(table), table)
        assert "In 3 races" in outcome
        assert "rivals won 2: 2 times as fast in SSSP on a" in outcome
        assert "to 3 times as fast in SSSP on b" in outcome
        assert "in 1 no difference is shown (tiled and boost 1.2 in SSSP on same)" in outcome
        few = [searches("tiled", [1.0] * 3, graph="few"), rival("boost", [2.0] * 3, graph="few")]
        table = pd.concat([searches("tiled", spread(1)), rival("boost", spread(1)), *few])
        outcome, *_ = sentences(summary_of(table), table)
        assert "In 2 races" in outcome
        assert outcome.endswith("); in 1 there are too few sources for a verdict.")

    @pytest.mark.parametrize(("status", "said"), [("timeout", ONE_SIDE), ("absent", ALONE)])
    def test_a_rival_that_did_not_finish_was_run_all_the_same(self, status, said):
        table = pd.concat([searches("tiled", spread(2)), rival("boost", spread(1), status=status)])
        outcome, *_ = sentences(summary_of(table), table)
        assert outcome == f"The fastest programs, by the number of graphs: SSSP: tiled on 1. {said}"

    def test_emulated_kernels_win_nothing(self):
        table = searches("tiled", spread(2), device_kind="host")
        outcome, _, machine = sentences(summary_of(table), table)
        assert outcome == NOBODY
        assert "one GPU program ran on an emulated device, and its times are not compared" in machine


class TestClaims:
    """The section of the landing page."""

    def test_claims_that_were_not_measured_are_one_sentence_or_folded(self):
        said = {"Claim": ["Faster", "14 claims", "3 claims"], "Measured": ["2 ms", None, None]}
        said["Verdict"] = ["same", "not measured: a", "not measured: b"]
        section = claims.claims_in_short(pd.DataFrame(said))
        assert "17 claims could not be measured" in section
        assert "not measured:" not in section
        assert "<th>Faster</th>" in section
        assert claims.claims_in_short(pd.DataFrame({"Claim": [], "Measured": []})) == pages.NOTHING
        columns = ["id", "text", "measured", "low", "high", "ratio", "verdict", "device"]
        rows = [
            ("faster", "Faster", 2.1, 2.0, 2.2, 1.05, "same", "X"),
            ("far", "Far", None, None, None, None, "not measured: no GPU", None),
            ("wide", "Wide", None, None, None, None, "not measured: no town", None),
        ]
        common = {"unit": "ms", "claimed": 2.0, "graph": "town", "where": "Table 1", "source": "adaptive"}
        lines = pd.DataFrame(rows, columns=columns).assign(**common)
        shown, folded = claims.claims_page(lines, "Claims", "<p>Note</p>").split("<details>")
        assert ("Faster" in shown, "Far<" in shown, "<td>not measured" in folded) == (True, False, False)
        assert "<summary>2 claims not measured</summary>" in folded
        assert "<td>no GPU</td>" in folded
        assert "No claim was measured" in claims.claims_page(lines[1:], "Claims", "")
        assert "<details>" not in claims.claims_page(lines[:1], "Claims", "")


def test_the_figure_names_the_front_of_graphs_with_several_finishers():
    alone = searches("quick", spread(9), prepare_ms=0.01, graph="village")
    nothing = pareto.preparation_against_search(alone, "sssp")
    assert "On no graph did two programs" in nothing.texts[1].get_text()
    both = [searches("quick", spread(9), prepare_ms=0.01), searches("slow", spread(12), prepare_ms=0.01)]
    figure = pareto.preparation_against_search(pd.concat([alone, *both]), "sssp")
    assert "On the front: quick on 1 of 1" in figure.texts[1].get_text()
    assert [axes.get_title(loc="left") for axes in figure.axes if axes.axison] == ["town"]
    programs = {"quick": (9, 0.01), "patient": (2, 50.0), "never": (20, 90.0)}
    real = [searches(name, spread(ms), prepare_ms=before) for name, (ms, before) in programs.items()]
    table = pd.concat([*real, searches("emulated", spread(1), device_kind="host")])
    figure = pareto.preparation_against_search(table, "sssp")
    said = figure.texts[1].get_text()
    assert "On the front: quick on 1 of 1, patient on 1 of 1" in said
    assert "rivals" not in said
    (axes,) = [one for one in figure.axes if one.get_title(loc="left") == "town"]
    steps, *points = axes.lines
    assert list(steps.get_xdata()) == [LEAST_PREPARATION_MS, 50]
    assert len(points) == 3


RATE = {"device_kind": "cuda", "device": "NVIDIA X", "copy_gb_s": 1000.0}


class TestRoofline:
    """Bandwidth against a copy."""

    def test_stated_bytes_come_before_counted_arcs(self):
        stated = searches("stated", [2.0]).assign(parameter_bytes_per_phase=1e6, relaxed_arcs=5.0)
        table = pd.concat([stated, searches("counted", [2.0]).assign(relaxed_arcs=1e6)])
        found = roofline.loads(table, "sssp").set_index("variant")
        assert found["gb_s"].to_dict() == pytest.approx({"stated": 2.0, "counted": 4.0})
        assert found.loc["stated", "phase_mb"] == pytest.approx(1)
        doubles = roofline.loads(table, "sssp", {"town": "float64"}).set_index("variant")
        assert doubles["gb_s"].to_dict() == pytest.approx({"stated": 2.0, "counted": 6.0})
        text = roofline.roofline(table, RATE, "sssp").texts[1].get_text()
        assert "highest: counted on town with 4 GB/s, 0% of it" in " ".join(text.split())

    @pytest.mark.parametrize(
        ("where", "gpu", "drawn"),
        [("auto", True, True), ("auto", False, False), ("host", True, False), ("cuda", False, True)],
    )
    def test_it_is_drawn_where_jobs_may_have_a_gpu(self, where, gpu, drawn):
        """A node of a cluster has one that the machine which plans the run lacks."""
        plan = default_plan(device=where, gpu=gpu)
        assert [one.wanted(plan) for one in roofline.EXHIBITS] == [drawn] * 2

    def test_without_a_gpu_it_says_so(self):
        table = searches("a", [2.0], device_kind="host").assign(relaxed_arcs=1e6)
        figure = roofline.roofline(table, {**RATE, "device_kind": "host"}, "sssp")
        assert "on a GPU" in figure.texts[1].get_text()


@pytest.fixture(scope="module")
def programs():
    return variant_pages.programs(default_plan())


class TestVariantPages:
    """The pages of variants and rivals."""

    def test_every_variant_and_rival_of_the_default_run_has_one(self, programs):
        files = [variant_pages.path(one) for one in programs]
        assert len(set(files)) == len(files)
        assert "results/pages/variants/sssp-near-far.html" in files
        assert "results/pages/variants/bfs-boost.html" in files
        (near,) = [one for one in programs if one["variant"] == "near-far"]
        assert near["about"]["lines"]["Program"].endswith("near_far/near_far.py")
        assert len(near["folders"]) == 3
        (hybrid,) = [one for one in programs if one["variant"] == "hybrid-cpu"]
        default, meaning = hybrid["about"]["documented"]["beta"]
        assert (default, meaning[:23]) == ("14", "A larger value prolongs"), "of the class it comes from"

    def page(self, programs, name, *tables, counted=None):
        (program,) = [one for one in programs if (one["problem"], one["variant"]) == ("sssp", name)]
        timings = pd.concat(tables)
        lines = summary_of(timings)
        ranked = summary.unmarked(summary.ranked_table(lines, timings))
        named = set(short_names(with_class(lines[lines["variant"] == name])))
        none = phases(name, [])
        counted = none.reindex(columns=[*phases(name, [1]).columns]) if counted is None else counted
        return variant_pages.variant_page(program, ranked[ranked["Variant"].isin(named)], timings, counted)

    def test_a_page_says_what_it_is_and_where_it_loses(self, programs):
        times = {"town": (4, 2), "village": (1, 3)}
        tables = [searches("near-far", spread(ours), graph=graph) for graph, (ours, _) in times.items()]
        tables += [searches("phast", spread(theirs), graph=graph) for graph, (_, theirs) in times.items()]
        counted = phases("near-far", [1, 50, 100, 5])
        text = html.unescape(self.page(programs, "near-far", *tables, counted=counted))
        assert "<h1>near-far (SSSP)</h1>" in text
        assert "Near-far SSSP in one launch" in text
        assert "Davidson, Baxter, Garland and Owens" in text
        assert "It is slower than the fastest on 1 of 2 graphs" in text
        assert re.search(r"<th>town</th><td>2 times as slow</td><td>phast</td>", text)
        assert "Width of a bucket in mean weights" in text
        assert re.search(r"<th>town</th><td>4</td><td>25</td><td>40</td><td>100</td><td>50%</td>", text)

    def test_parameters_have_their_defaults_values_in_force_and_other_values_a_table(self, programs):
        table = searches("near-far", spread(4)).assign(parameter_bucket=512, parameter_wide=4096)
        text = html.unescape(self.page(programs, "near-far", table))
        assert "<th>delta</th><td>auto (default)</td><td><code>bucket</code>: 512</td><td>Width of" in text
        assert "<th>bucket</th><td>512</td>" in text
        without = self.page(programs, "near-far", searches("near-far", spread(4)))
        assert "<th>delta</th><td>auto (default)</td><td></td>" in without
        table = searches("phast", spread(4)).assign(parameter_tasks=8, parameter_height=104)
        text = html.unescape(self.page(programs, "phast", table))
        assert re.search(r"<th>tasks</th><td>auto \(default\)</td><td>8</td><td>Parts besides the top", text)
        assert re.search(r"<th>fill</th><td>16.0 \(default\)</td><td></td>", text)
        assert re.search(
            rf"{variant_pages.OTHER_VALUES}</p>\s*<table>\s*<tr><th>Name</th>.*\s*<tr><th>height</th><td>104<",
            text,
        )

    def test_a_rival_has_its_definition_and_no_phases(self, programs):
        text = html.unescape(
            self.page(programs, "boost", rival("boost", spread(4)), searches("phast", spread(9)))
        )
        assert "Boost.Graph" in text
        assert variant_pages.NOWHERE in text
        assert "It counts none." in text


def test_chapters_have_no_gaps():
    found = catalogue.chapters(default_plan())
    chapters = ["Summary", "SSSP", "BFS", "Variants", "Graphs", "Provenance"]
    assert list(found.values()) == [f"{number}. {name}" for number, name in enumerate(chapters, start=1)]
