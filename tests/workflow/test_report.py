"""The report in a browser that has no network: landing page, figures and a map."""

import zipfile
from contextlib import contextmanager
from functools import partial

import pytest

from tiny_workflow import ONCE, TINY, only, run_once

pytestmark = pytest.mark.slow
SIZE = (1400, 1100)
"""Of the window, in pixels."""

SIZES = ((1000, 1400), (1920, 1080))


def render(workflow):
    config = {
        **TINY,
        "timing": ONCE,
        "sssp": {**only("conventional", "adaptive", "dijkstra-cpu"), "graphs": ["kanto-highways"]},
        "report": {"maps": ["kanto-highways"]},
    }
    workflow.configure(config)
    workflow.run("--", "all")
    workflow.run("--report", "report.zip")
    with zipfile.ZipFile(workflow.path("report.zip")) as archive:
        archive.extractall(workflow.folder)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The unpacked report of a run on real roads with coordinates."""
    return run_once(tmp_path_factory, "report", render).path("report/report.html")


@pytest.fixture
def browser(chromium, report):
    """The browser with the report freshly open and an empty log."""
    chromium.set_window_size(*SIZE)
    chromium.get("about:blank")
    chromium.get_log("browser")
    chromium.get(report.as_uri())
    return chromium


def show(browser, category, *words):
    """Open the result of a category from the menu whose row has these words."""
    browser.find_element("xpath", f"//*[contains(text(), '{category}')]").click()
    row = " and ".join(f"contains(translate(., 'FM', 'fm'), '{word}')" for word in words)
    browser.find_element("xpath", f"//tr[{row}]//a").click()


def open_page(browser, file, title):
    """Show a page that has been opened from the menu alone, and check its title."""
    browser.switch_to.frame(browser.find_element("xpath", f"//iframe[contains(@src, '{file}')]"))
    assert browser.find_element("tag name", "h1").text == title
    return browser.find_element("tag name", "body").text


@contextmanager
def screen(browser, width, height):
    """Let the browser's window have another size."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def severe_errors(browser):
    """Return the errors of the browser's console."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def wait_until(browser, condition):
    """Fail unless the condition comes true within some seconds; a busy machine is slow to load an image."""
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 20).until(lambda _: condition())


def is_wide(browser, image):
    """Tell whether an image has been decoded, and is no icon."""
    return browser.execute_script("return arguments[0].naturalWidth", image) > 300


def test_the_landing_page_opens_with_the_outcome(browser):
    lead = [one.text for one in browser.find_elements("css selector", ".prose .lead p")]
    assert len(lead) == 3
    assert lead[0].startswith("The fastest programs, by the number of graphs: SSSP: dijkstra-cpu on 1.")
    assert "answers were proven correct" in lead[1]
    assert lead[2].startswith("Measured on ")


def test_the_landing_page_has_the_race_and_the_headline_figure(browser):
    rows = [row.text for row in browser.find_elements("xpath", "//table//tr")]
    (line,) = [row for row in rows if row.startswith("SSSP kanto-highways") and "dijkstra-cpu" in row]
    assert "100%" in line
    assert " ok" in line
    body = browser.find_element("tag name", "body").text
    assert "A processor ran these CUDA kernels: " in body
    assert "could not be measured in this run" in body
    assert "System Message" not in body
    assert not [row for row in rows if "not measured" in row]
    assert browser.find_elements("css selector", "svg text")
    assert "© OpenStreetMap contributors" in body


@pytest.mark.parametrize("size", SIZES, ids="{0[0]}x{0[1]}".format)
def test_the_landing_page_opens_at_its_title(browser, report, size):
    with screen(browser, *size):
        browser.get(report.as_uri())
        title = browser.find_element("css selector", "h1.title")
        wait_until(browser, lambda: title.rect["height"] > 0)
        place = browser.execute_script("return arguments[0].getBoundingClientRect().toJSON()", title)
    assert 0 <= place["top"] < 100
    assert place["left"] >= 0
    assert place["right"] <= size[0]
    assert not severe_errors(browser)


def test_chapters_are_numbered_without_gaps(browser):
    items = [one.text for one in browser.find_elements("css selector", "nav li")]
    assert [one for one in items if one[:1].isdigit()] == [
        *("1. Summary", "2. SSSP", "3. Variants", "4. Graphs", "5. Provenance")
    ]


def test_the_page_of_a_variant_opens_from_the_menu(browser):
    show(browser, "3. Variants", "adaptive")
    assert "Accelerating SSSP Algorithm on GPU" in open_page(browser, "sssp-adaptive.html", "adaptive (SSSP)")
    heads = [one.text for one in browser.find_elements("tag name", "h2")]
    assert heads == ["Times", "Where it loses", "Parameters", "Phases"]


@pytest.mark.parametrize(
    ("category", "words", "width"),
    [
        ("2. SSSP", ["kanto-highways", "figure 6"], 300),
        ("2. SSSP", ["time of each phase"], 550),
        ("4. Graphs", ["kanto-highways", "map"], 300),
    ],
)
def test_figures_open_from_the_menu_and_are_no_stamps_in_a_narrow_window(browser, category, words, width):
    with screen(browser, *SIZES[0]):
        show(browser, category, *words)
        image = browser.find_element("xpath", "//img[contains(@src, 'data/raw')]")
        wait_until(browser, image.is_displayed)
        assert image.size["width"] >= width


def test_the_page_of_a_graph_opens_from_the_menu(browser):
    show(browser, "4. Graphs", "kanto-highways", "page")
    assert "© OpenStreetMap contributors" in open_page(browser, "kanto-highways.html", "kanto-highways")
    images = browser.find_elements("tag name", "img")
    assert len(images) == 3
    for image in images:
        wait_until(browser, partial(is_wide, browser, image))
