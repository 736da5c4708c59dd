"""The report in a browser that has no network: landing page, figures and a map."""

from __future__ import annotations

import shutil
import zipfile
from functools import partial

import pytest

from tiny_workflow import TINY, run_once

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
SIZE = (1400, 1100)
"""Of the window, in pixels."""


def render(workflow):
    config = {
        **TINY,
        "timing": {"sources": 2, "repetitions": 1, "rounds": 1, "warmup": 0},
        "sssp": {
            "graphs": ["kanto-highways"],
            "variants": dict.fromkeys(("near-far", "tiled", "phast"), False),
        },
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


@pytest.fixture(scope="module")
def chromium():
    """A browser."""
    if not CHROMIUM or not DRIVER:
        pytest.skip("chromium and chromedriver are not installed (Debian: chromium, chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.implicitly_wait(5)
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium, report):
    """The browser with the report freshly open and an empty log."""
    chromium.set_window_size(*SIZE)
    chromium.get("about:blank")
    chromium.get_log("browser")
    chromium.get(report.as_uri())
    return chromium


def open_category(browser, name):
    """Choose a category in the menu at the left."""
    browser.find_element("xpath", f"//*[contains(text(), '{name}')]").click()


def wait_until(browser, condition):
    """Fail unless the condition comes true within some seconds; a busy machine is slow to load an image."""
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 20).until(lambda _: condition())


def is_wide(browser, image):
    """Tell whether an image has been decoded, and is no icon."""
    return browser.execute_script("return arguments[0].naturalWidth", image) > 300


def test_the_landing_page_has_the_table_and_the_headline_figure(browser):
    rows = [row.text for row in browser.find_elements("xpath", "//table//tr")]
    for variant in ("conventional", "selection", "adaptive", "dijkstra-cpu"):
        lines = [row for row in rows if row.startswith("SSSP kanto-highways") and variant in row]
        assert any("100%" in line and " ok" in line for line in lines)
    heads = [row.split() for row in rows if row.startswith("Problem Graph")]
    assert ["Best" in head for head in heads] == [True, False, False]
    assert ["Rank" in head for head in heads] == [False, True, False], "the real race, then emulated kernels"
    assert browser.find_elements("css selector", "svg text")
    assert "© OpenStreetMap contributors" in browser.find_element("tag name", "body").text


def test_the_landing_page_opens_at_its_title(browser):
    title = browser.find_element("css selector", "h1.title")
    browser.set_window_size(1000, 500)
    wait_until(browser, lambda: title.rect["height"] > 0)
    assert title.rect["y"] >= 0


def test_nothing_is_missing_without_a_network(browser):
    browser.find_element("xpath", "//table")
    severe = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert not severe


@pytest.mark.parametrize(
    ("category", "view"),
    [("2. SSSP", "figure 4"), ("2. SSSP", "figure 6"), ("5. Graphs", "map"), ("5. Graphs", "degrees")],
)
def test_figures_open_from_the_menu(browser, category, view):
    open_category(browser, category)
    row = browser.find_element(
        "xpath", f"//tr[contains(., 'kanto-highways') and contains(translate(., 'FM', 'fm'), '{view}')]"
    )
    row.find_element("xpath", ".//a").click()
    image = browser.find_element("xpath", "//img[contains(@src, 'data/raw')]")
    wait_until(browser, image.is_displayed)
    assert image.size["width"] > 300


def test_the_page_of_a_graph_opens_from_the_menu(browser):
    open_category(browser, "5. Graphs")
    row = browser.find_element("xpath", "//tr[contains(., 'kanto-highways') and contains(., 'page')]")
    row.find_element("xpath", ".//a").click()
    browser.switch_to.frame(browser.find_element("xpath", "//iframe[contains(@src, 'kanto-highways.html')]"))
    assert browser.find_element("tag name", "h1").text == "kanto-highways"
    assert "© OpenStreetMap contributors" in browser.find_element("tag name", "body").text
    images = browser.find_elements("tag name", "img")
    assert len(images) == 3
    for image in images:
        wait_until(browser, partial(is_wide, browser, image))
