"""Pages with tables that sort and filter, the lead of the landing page, and the pages of variants."""

import html
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import yaml

from relaxometer.plan.plan import Plan
from relaxometer.report import catalogue, pages, variant_pages
from relaxometer.report.figures import claims, pareto, roofline, summary
from relaxometer.report.figures.lead import ALONE, NOBODY, ONE_SIDE, sentences
from relaxometer.report.figures.names import short_names
from relaxometer.results.gather import summarise
from relaxometer.results.samples import with_class
from synthetic_runs import phases, rival, searches, spread

ROOT = Path(__file__).parents[2]

TABLE = pd.DataFrame(
    {
        "Variant": ["near-far", "phast", "boost", "tiled"],
        "Median [ms]": ["2.09", "1,341", "", "15.6"],
        "Interval": ["1.9 to 2.2", "1,300 to 1,400", "never", "15 to 16"],
        "Home": ["https://example.org/a", "", "", ""],
    }
)


def summary_of(*tables):
    return summarise(pa.Table.from_pandas(pd.concat(tables), preserve_index=False))


def default_plan(*, gpu=True, **options):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    return Plan(config | options, ROOT / "resources/datasets.yaml", gpu=gpu)


class Links(HTMLParser):
    """Collects the addresses, the anchors and the images of a page."""

    def __init__(self, page):
        super().__init__()
        self.addresses, self.ids, self.without_alt = [], set(), 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.addresses += [found[key] for key in ("href", "src") if key in found]
        self.ids |= {found["id"]} if "id" in found else set()
        self.without_alt += tag == "img" and not found.get("alt")


@pytest.fixture(scope="module")
def browser():
    """Chromium without a network."""
    chromium, driver = (
        shutil.which("chromium") or shutil.which("chromium-browser"),
        shutil.which("chromedriver"),
    )
    if not chromium or not driver:
        pytest.skip("chromium and chromedriver are not installed (Debian: chromium, chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in ("--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(option)
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


def column(browser, number):
    cells = browser.find_elements("css selector", f"tbody tr:not([hidden]) td:nth-child({number})")
    return [cell.text for cell in cells]


class TestTables:
    """Tables of a page, in a browser."""

    @pytest.fixture
    def opened(self, browser, tmp_path):
        page = tmp_path / "page.html"
        page.write_text(pages.table_page("Times", "<p>Note</p>", TABLE, "times"), encoding="utf-8")
        browser.get(page.as_uri())
        return browser

    def test_a_click_sorts_by_numbers_and_the_next_one_turns_the_order(self, opened):
        head = opened.find_element("xpath", "//th[contains(., 'Median')]")
        head.find_element("tag name", "button").click()
        assert column(opened, 2) == ["2.09", "15.6", "1,341", ""]
        assert head.get_attribute("aria-sort") == "ascending"
        head.find_element("tag name", "button").click()
        assert column(opened, 2) == ["1,341", "15.6", "2.09", ""], "empty cells stay last"
        assert head.get_attribute("aria-sort") == "descending"

    def test_the_best_comes_first_where_more_is_better(self, browser, tmp_path):
        page = tmp_path / "rates.html"
        rates = pd.DataFrame({"Rank": ["2", "1", ""], "Million edges/s": ["5", "70", ""]})
        page.write_text(pages.table_page("Rates", "", rates, "rates"), encoding="utf-8")
        browser.get(page.as_uri())
        rank, rate = browser.find_elements("css selector", "th button")
        rate.click()
        assert column(browser, 2) == ["70", "5", ""]
        rate.click()
        assert column(browser, 2) == ["5", "70", ""]
        rank.click()
        assert column(browser, 1) == ["1", "2", ""]

    def test_intervals_sort_by_their_lower_end_and_words_come_after_numbers(self, opened):
        opened.find_element("xpath", "//th[contains(., 'Interval')]/button").click()
        assert column(opened, 3) == ["1.9 to 2.2", "15 to 16", "1,300 to 1,400", "never"]

    @pytest.mark.parametrize(
        "ordered",
        [["1.9", "1.9.2", "1.17.1", "2.0", "nightly"], ["2025-11-30", "2026-01-02", "2026-01-10"]],
        ids=["versions", "dates"],
    )
    def test_versions_and_dates_sort_by_all_of_their_parts(self, browser, tmp_path, ordered):
        page = tmp_path / "page.html"
        rows = pd.DataFrame({"Of parts": ordered[::-1]})
        page.write_text(pages.table_page("Times", "", rows, "times"), encoding="utf-8")
        browser.get(page.as_uri())
        browser.find_element("css selector", "th button").click()
        assert column(browser, 1) == ordered

    def test_a_table_sorts_and_filters_whose_name_begins_with_a_digit(self, browser, tmp_path):
        page = tmp_path / "page.html"
        page.write_text(pages.table_page("Times", "", TABLE, "2-phases-times"), encoding="utf-8")
        browser.get(page.as_uri())
        assert browser.find_element("css selector", ".filter output").text == "4 of 4 rows"
        browser.find_element("xpath", "//th[contains(., 'Median')]/button").click()
        assert column(browser, 2) == ["2.09", "15.6", "1,341", ""]

    def test_words_filter_rows_and_are_counted(self, opened):
        box, count = (opened.find_element("css selector", f".filter {tag}") for tag in ("input", "output"))
        assert count.text == "4 of 4 rows"
        box.send_keys("AR")
        assert column(opened, 1) == ["near-far"]
        assert count.text == "1 of 4 rows"
        box.clear()
        box.send_keys("t -phast")
        assert column(opened, 1) == ["near-far", "boost", "tiled"]

    def test_the_table_can_be_saved_and_its_addresses_are_links(self, opened):
        save = opened.find_element("css selector", ".filter a")
        assert save.get_attribute("download") == "times.csv"
        assert save.get_attribute("href").startswith("data:text/csv;base64,")
        assert opened.find_element("css selector", "tbody a").get_attribute("href") == "https://example.org/a"


def test_columns_of_numbers_are_aligned_to_the_right():
    table = pages.data_table(TABLE, "times")
    heads = re.findall(r'<th scope="col"( class="number")?>', table)
    assert [bool(one) for one in heads] == [False, True, False, False]


def test_a_caption_becomes_html():
    text = "A *rank* of ``a < b`` and `x`.\n\nSecond."
    assert pages.from_caption(text) == (
        "<p>A <em>rank</em> of <code>a &lt; b</code> and <code>x</code>.</p>\n<p>Second.</p>"
    )


@pytest.mark.parametrize("one", catalogue.exhibits().values(), ids=lambda one: one.name)
def test_captions_of_tables_have_no_templates(one):
    for output in one.outputs().values():
        view = output.shown
        if view and view.suffix in ("csv", "html"):
            caption = (catalogue.CAPTIONS / one.caption(view)).read_text(encoding="utf-8")
            assert "{{" not in caption
            assert "{%" not in caption
            assert ":sup:" not in caption


def test_links_and_images_of_pages_are_whole(tmp_path):
    picture = tmp_path / "a.svg"
    picture.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    body = pages.image(picture, "A figure") + pages.data_table(TABLE, "times")
    found = Links(pages.page("Title", body))
    assert found.without_alt == 0
    assert found.ids == {"times", "times-filter"}
    for address in found.addresses:
        assert address.startswith(("data:", "https://example.org/"))


class TestLead:
    """The three sentences."""

    def test_the_winner_is_named_with_factor_preparation_and_machine(self):
        table = pd.concat([searches("tiled", spread(2)), rival("boost", spread(10), prepare_ms=3.0)])
        outcome, certainty, machine = sentences(summary_of(table), table, "2026-01-02")
        assert (
            "In one race of our best program against the best rival, our programs won 1: 5 times" in outcome
        )
        assert (
            "in SSSP on town (95% interval 4.6 to 5.43; tiled, 2 ms after 0.5 ms of preparation, " in outcome
        )
        assert "against boost 1.2, " in outcome
        assert "10 ms after 3 ms of preparation)" in outcome
        assert "test over 12 common samples tells" in certainty
        assert "48 of 48 answers were proven correct" in certainty
        assert machine == "Measured on NVIDIA X and CPU X, 2026-01-02."

    def test_a_changed_speed_is_said(self):
        table = searches("tiled", spread(2))
        machine = sentences(summary_of(table), table, "2026-01-02", "changed by up to 84% in a race")[2]
        assert machine == "Measured on NVIDIA X, 2026-01-02, whose speed changed by up to 84% in a race."

    def test_rivals_win_and_no_difference_is_said(self):
        lost = [
            searches("tiled", spread(mean), graph=graph)
            for graph, mean in (("a", 10), ("b", 30), ("same", 1))
        ]
        theirs = [rival("boost", spread(mean), graph=g) for g, mean in (("a", 5), ("b", 10), ("same", 1))]
        table = pd.concat([*lost, *theirs])
        outcome, *_ = sentences(summary_of(table), table)
        assert "In 3 races" in outcome
        assert "rivals won 2: 2 times as fast in SSSP on a" in outcome
        assert "to 3 times as fast in SSSP on b" in outcome
        assert "in 1 no difference is shown" in outcome

    def test_races_without_a_winner_are_not_counted_apart(self):
        table = pd.concat([searches("tiled", spread(1)), rival("boost", spread(1))])
        outcome, certainty, _ = sentences(summary_of(table), table)
        assert outcome.endswith("against the best rival, no difference is shown.")
        assert certainty == "48 of 48 answers were proven correct."

    def test_races_without_a_difference_are_counted_next_to_those_of_few_sources(self):
        few = [searches("tiled", [1.0] * 3, graph="few"), rival("boost", [2.0] * 3, graph="few")]
        table = pd.concat([searches("tiled", spread(1)), rival("boost", spread(1)), *few])
        outcome, *_ = sentences(summary_of(table), table)
        assert "In 2 races" in outcome
        assert outcome.endswith("in 1 no difference is shown; in 1 there are too few sources for a verdict.")

    @pytest.mark.parametrize(("status", "said"), [("timeout", ONE_SIDE), ("absent", ALONE)])
    def test_a_rival_that_did_not_finish_was_run_all_the_same(self, status, said):
        table = pd.concat([searches("tiled", spread(2)), rival("boost", spread(1), status=status)])
        outcome, *_ = sentences(summary_of(table), table)
        assert outcome == f"The fastest programs, by the number of graphs: SSSP: tiled on 1. {said}"

    @pytest.mark.parametrize("status", ["skipped", "absent"])
    def test_programs_that_were_not_run_have_no_wrong_answers(self, status):
        table = pd.concat([searches("tiled", spread(1)), searches("phast", spread(1), status=status)])
        _, certainty, _ = sentences(summary_of(table), table)
        assert certainty.startswith("24 of 24 answers were proven correct")

    def test_without_a_rival_the_fastest_are_counted(self):
        table = pd.concat(
            [searches("tiled", spread(2)), searches("dijkstra-cpu", spread(9), device_kind="cpu")]
        )
        outcome, *_ = sentences(summary_of(table), table)
        assert outcome == f"The fastest programs, by the number of graphs: SSSP: tiled on 1. {ALONE}"

    def test_emulated_kernels_win_nothing(self):
        table = searches("tiled", spread(2), device_kind="host")
        outcome, _, machine = sentences(summary_of(table), table)
        assert outcome == NOBODY
        assert "one GPU program ran on an emulated device, and its times are not compared" in machine


class TestClaims:
    """The section of the landing page."""

    def test_claims_that_were_not_measured_are_one_sentence(self):
        short = pd.DataFrame(
            {
                "Claim": ["Faster", "14 claims", "3 claims"],
                "Measured": ["2 ms", None, None],
                "Verdict": ["same", "not measured: a", "not measured: b"],
            }
        )
        section = claims.claims_in_short(short)
        assert "17 claims could not be measured" in section
        assert "not measured:" not in section
        assert "<th>Faster</th>" in section

    def test_the_page_folds_claims_that_were_not_measured(self):
        columns = ["id", "text", "measured", "low", "high", "ratio", "verdict", "device"]
        rows = [
            ("faster", "Faster", 2.1, 2.0, 2.2, 1.05, "same", "X"),
            ("far", "Far", None, None, None, None, "not measured: no GPU", None),
            ("wide", "Wide", None, None, None, None, "not measured: no town", None),
        ]
        common = {"unit": "ms", "claimed": 2.0, "graph": "town", "where": "Table 1", "source": "adaptive"}
        lines = pd.DataFrame(rows, columns=columns).assign(**common)
        shown, folded = claims.claims_page(lines, "Claims", "<p>Note</p>").split("<details>")
        assert "Faster" in shown
        assert "Far<" not in shown
        assert "<summary>2 claims not measured</summary>" in folded
        assert "<td>no GPU</td>" in folded
        assert "<td>not measured" not in folded
        nothing = claims.claims_page(lines[1:], "Claims", "")
        assert "No claim was measured" in nothing
        assert "<details>" not in claims.claims_page(lines[:1], "Claims", "")

    def test_without_claims_there_is_no_section(self):
        assert claims.claims_in_short(pd.DataFrame({"Claim": [], "Measured": []})) == pages.NOTHING


def test_parameters_have_the_description_of_the_class_that_they_come_from():
    about = {"file": "src/relaxometer/problems/bfs/hybrid_cpu.py"}
    _, documented = variant_pages._about(about)
    assert documented["beta"].meaning.startswith("A larger value prolongs")
    assert documented["beta"].default == "14"


class TestPareto:
    """Preparation against search time."""

    def test_the_front_has_what_no_other_beats(self):
        assert pareto.front([1, 5, 5, 10, 0], [9, 3, 4, 3, 20]) == [4, 0, 1]

    def test_markers_that_would_cover_each_other_stand_side_by_side(self):
        table = pd.concat(
            [
                searches("a", spread(2), prepare_ms=0.01),
                searches("b", spread(2.001), prepare_ms=0.02),
                searches("c", spread(40), prepare_ms=0.02),
            ]
        )
        figure = pareto.preparation_against_search(table, "sssp")
        markers = [line for line in figure.axes[0].lines if line.get_marker() not in ("", "None")]
        places = [line.get_transform().transform(line.get_xydata()[0]) for line in markers]
        assert places[1][0] - places[0][0] > 3
        assert places[2][0] == pytest.approx(places[0][0])

    def test_long_names_get_fewer_columns(self):
        assert [pareto.legend_columns([size * "x"] * 6) for size in (20, 40, 60)] == [3, 2, 1]
        assert pareto.legend_columns(["one"]) == 1

    def test_panels_of_near_equal_preparation_share_one_axis(self):
        like = [
            searches(variant, spread(2), prepare_ms=0.22, graph=graph)
            for graph in ("town", "village")
            for variant in "ab"
        ]
        figure = pareto.preparation_against_search(pd.concat(like), "sssp")
        first, second = (one for one in figure.axes if one.get_title(loc="left"))
        assert first.get_xlim() == second.get_xlim()
        assert first.get_xlim()[1] >= pareto.MIN_SPAN * first.get_xlim()[0]

    def test_a_graph_with_a_single_finisher_does_not_count(self):
        alone = searches("quick", spread(9), prepare_ms=0.01, graph="village")
        nothing = pareto.preparation_against_search(alone, "sssp")
        assert "On no graph did two programs" in nothing.texts[1].get_text()
        both = [searches("quick", spread(9), prepare_ms=0.01), searches("slow", spread(12), prepare_ms=0.01)]
        figure = pareto.preparation_against_search(pd.concat([alone, *both]), "sssp")
        assert "On the front: quick on 1 of 1" in figure.texts[1].get_text()
        assert [axes.get_title(loc="left") for axes in figure.axes if axes.axison] == ["town"]

    def test_the_figure_names_the_front(self):
        table = pd.concat(
            [
                searches("quick", spread(9), prepare_ms=0.01),
                searches("patient", spread(2), prepare_ms=50.0),
                searches("never", spread(20), prepare_ms=90.0),
                searches("emulated", spread(1), device_kind="host"),
            ]
        )
        figure = pareto.preparation_against_search(table, "sssp")
        said = figure.texts[1].get_text()
        assert "On the front: quick on 1 of 1, patient on 1 of 1" in said
        assert "rivals" not in said
        (axes,) = [one for one in figure.axes if one.get_title(loc="left") == "town"]
        steps, *points = axes.lines
        assert list(steps.get_xdata()) == [pareto.LEAST_MS, 50]
        assert len(points) == 3


RATE = {"device_kind": "cuda", "device": "NVIDIA X", "copy_gb_s": 1000.0}


class TestRoofline:
    """Bandwidth against a copy."""

    def test_stated_bytes_come_before_counted_arcs(self):
        stated = searches("stated", [2.0]).assign(parameter_bytes_per_phase=1e6, relaxed_arcs=5.0)
        counted = searches("counted", [2.0]).assign(relaxed_arcs=1e6)
        table = pd.concat([stated, counted])
        found = roofline.loads(table, "sssp").set_index("variant")
        assert found.loc["stated", "gb_s"] == pytest.approx(4e6 / 2e-3 / 1e9)
        assert found.loc["counted", "gb_s"] == pytest.approx(8e6 / 2e-3 / 1e9)
        assert found.loc["stated", "phase_mb"] == pytest.approx(1)
        doubles = roofline.loads(table, "sssp", {"town": "float64"}).set_index("variant")
        assert doubles.loc["stated", "gb_s"] == found.loc["stated", "gb_s"]
        assert doubles.loc["counted", "gb_s"] == pytest.approx(12e6 / 2e-3 / 1e9)
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


class TestVariantPages:
    """The pages of variants and rivals."""

    def test_every_variant_and_rival_of_the_default_run_has_one(self):
        programs = variant_pages.programs(default_plan())
        files = [variant_pages.path(one) for one in programs]
        assert len(set(files)) == len(files)
        assert "results/pages/variants/sssp-near-far.html" in files
        assert "results/pages/variants/bfs-boost.html" in files
        (near,) = [one for one in programs if one["variant"] == "near-far"]
        assert near["about"]["file"].endswith("near_far/near_far.py")
        assert len(near["folders"]) == 3

    def page(self, name, *tables, counted=None):
        (program,) = [
            one
            for one in variant_pages.programs(default_plan())
            if (one["problem"], one["variant"]) == ("sssp", name)
        ]
        timings = pd.concat(tables)
        lines = summary_of(timings)
        ranked = summary.unmarked(summary.ranked_table(lines, timings))
        named = set(short_names(with_class(lines[lines["variant"] == name])))
        none = phases(name, [])
        counted = none.reindex(columns=[*phases(name, [1]).columns]) if counted is None else counted
        return variant_pages.variant_page(program, ranked[ranked["Variant"].isin(named)], timings, counted)

    def test_a_page_says_what_it_is_and_where_it_loses(self):
        tables = [
            searches("near-far", spread(4)),
            searches("phast", spread(2)),
            searches("near-far", spread(1), graph="village"),
            searches("phast", spread(3), graph="village"),
        ]
        counted = phases("near-far", [1, 50, 100, 5])
        text = html.unescape(self.page("near-far", *tables, counted=counted))
        assert "<h1>near-far (SSSP)</h1>" in text
        assert "Near-far SSSP in one launch" in text
        assert "Davidson, Baxter, Garland and Owens" in text
        assert "It is slower than the fastest on 1 of 2 graphs" in text
        assert re.search(r"<th>town</th><td>2 times as slow</td><td>phast</td>", text)
        assert "Width of a bucket in mean weights" in text
        assert re.search(r"<th>town</th><td>4</td><td>25</td><td>40</td><td>100</td><td>50%</td>", text)

    def test_values_in_force_name_their_graphs_where_they_differ(self):
        tables = [
            searches("near-far", spread(4)).assign(parameter_narrow=1024, parameter_wide=4096),
            searches("near-far", spread(1), graph="village").assign(parameter_narrow=0, parameter_wide=4096),
        ]
        text = html.unescape(self.page("near-far", *tables, counted=phases("near-far", [1, 50])))
        assert "<td>1024 (town); 0 (village)</td>" in text
        assert "<td>4096</td>" in text
        assert re.search(r'<div class="wide"><table>\s*<tr><th>Graph</th><th>Phases</th>', text)

    def test_a_value_that_is_reported_under_another_name_is_in_force(self):
        table = searches("near-far", spread(4)).assign(parameter_bucket=512, parameter_wide=4096)
        text = html.unescape(self.page("near-far", table))
        assert "<th>delta</th><td>auto (default)</td><td><code>bucket</code>: 512</td><td>Width of" in text
        assert "<th>bucket</th><td>512</td>" in text
        without = self.page("near-far", searches("near-far", spread(4)))
        assert "<th>delta</th><td>auto (default)</td><td></td>" in without

    def test_whole_values_have_all_digits(self):
        """A column that other variants lack holds floats."""
        tables = [
            searches("near-far", spread(4)).assign(parameter_narrow=2**20, parameter_wide=0.25),
            searches("phast", spread(2)),
        ]
        text = html.unescape(self.page("near-far", *tables))
        assert "<td>1048576</td>" in text
        assert "<td>0.25</td>" in text

    def test_parameters_have_their_defaults_and_other_values_a_table_of_their_own(self):
        table = searches("phast", spread(4)).assign(parameter_tasks=8, parameter_height=104)
        text = html.unescape(self.page("phast", table))
        assert re.search(r"<th>tasks</th><td>auto \(default\)</td><td>8</td><td>Parts besides the top", text)
        assert re.search(r"<th>fill</th><td>16.0 \(default\)</td><td></td>", text)
        assert re.search(
            rf"{variant_pages.OTHER_VALUES}</p>\s*<table>\s*<tr><th>Name</th>.*\s*<tr><th>height</th><td>104<",
            text,
        )

    def test_a_rival_has_its_definition_and_no_phases(self):
        text = html.unescape(self.page("boost", rival("boost", spread(4)), searches("phast", spread(9))))
        assert "Boost.Graph" in text
        assert variant_pages.NOWHERE in text
        assert "It counts none." in text

    def test_parameters_are_read_from_the_docstring(self):
        docs = "Parameters\n----------\na, b : int\n    First line\n    and second.\nc : str\n    Other."
        assert variant_pages.parameter_docs(docs) == {
            "a": "First line and second.",
            "b": "First line and second.",
            "c": "Other.",
        }


def test_chapters_have_no_gaps():
    found = catalogue.chapters(default_plan())
    assert list(found.values()) == [
        *("1. Summary", "2. SSSP", "3. BFS", "4. Variants", "5. Graphs", "6. Provenance")
    ]
