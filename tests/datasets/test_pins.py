"""Downloads without a checksum: the first file that a reader accepts fixes it, and advice works."""

import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from relaxometer.datasets.pins import pin_downloads, pinned
from relaxometer.datasets.registry import Dataset
from script_runs import run_script

MAP = b"p sp 3 3\na 1 2 5\na 2 3 6\na 3 1 7\n"
PLACES = b"p aux sp co 3\nv 1 0 0\nv 2 1 1\nv 3 2 2\n"


class Handler(BaseHTTPRequestHandler):
    """Sends the next of the server's answers without a length; the last one again and again."""

    def do_GET(self):
        answers = self.server.answers[self.path]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answers.pop(0) if len(answers) > 1 else answers[0])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.answers = {"/map.gr": [MAP], "/map.co": [PLACES]}
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def dataset(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"http://127.0.0.1:{server.server_port}"
    return Dataset(format="dimacs", url=f"{url}/map.gr", coordinates={"url": f"{url}/map.co"})


def run(dataset):
    """Fetch the files that are missing and build the graph, as the workflow does."""
    files = [f"results/downloads/{file.file_name}" for file in dataset.files]
    for path, file in zip(files, dataset.files, strict=True):
        if not Path(path).exists():
            download = {"file": file.as_download(), "terms": dataset.terms}
            run_script("download_file", log=Path("log"), inputs={}, outputs={"file": path}, **download)
    outputs = {"metadata": "results/graphs/mine/graph.json"}
    given = dataset.model_dump()
    entry = {"dataset": given, "about": {}}
    run_script("build_dataset", log=Path("log"), inputs={"files": files}, outputs=outputs, **entry)


def error(dataset, capsys):
    with pytest.raises(SystemExit):
        run(dataset)
    text = capsys.readouterr().err
    assert "Traceback" not in text
    (line,) = re.findall("^error: (.*)$", text, re.MULTILINE)
    return line


def pins():
    return sorted(path.name for path in Path("results/downloads").glob("*.sha256"))


def test_a_checksum_is_pinned_once_the_file_has_been_read(dataset):
    run(dataset)
    digest = hashlib.sha256(MAP).hexdigest()
    assert Path("results/downloads/map.gr.sha256").read_text(encoding="utf-8") == f"{digest}  map.gr\n"
    assert pins() == ["map.co.sha256", "map.gr.sha256"]


@pytest.mark.parametrize("cut", [MAP[:-8], MAP[:5], b"Please log in\n"])
def test_the_advice_after_a_cut_download_works(server, dataset, capsys, cut):
    server.answers["/map.gr"].insert(0, cut)
    line = error(dataset, capsys)
    assert pins() == []
    advice = "no checksum is known of results/downloads/map.gr and results/downloads/map.co: if a download "
    assert advice + "may be incomplete, delete it and run again" in line
    Path("results/downloads/map.gr").unlink()
    run(dataset)
    assert Path("results/graphs/mine/graph.json").is_file()
    assert pins() == ["map.co.sha256", "map.gr.sha256"]


@pytest.mark.parametrize("page", [b"", b"<!doctype html>\n<title>Log in</title>"])
def test_an_empty_file_or_a_page_needs_no_advice(server, dataset, capsys, page):
    server.answers["/map.gr"].insert(0, page)
    assert "map.gr could not be fetched" in error(dataset, capsys)
    run(dataset)
    assert pins() == ["map.co.sha256", "map.gr.sha256"]


def test_counts_that_differ_pin_nothing(dataset, capsys):
    wrong = dataset.model_copy(update={"arcs": 4})
    assert "3 arcs, but its dataset promises 4" in error(wrong, capsys)
    assert pins() == []


def test_the_advice_for_a_file_that_has_changed_works(server, dataset, capsys):
    run(dataset)
    Path("results/downloads/map.gr").unlink()
    server.answers["/map.gr"] = [MAP.replace(b"7", b"8")]
    line = error(dataset, capsys)
    (pin,) = re.findall(r"as first read; to accept the new file, delete (\S+)$", line)
    Path(pin).unlink()
    run(dataset)
    assert Path(pin).is_file()


@pytest.mark.parametrize("followed", [1, 2])
def test_the_advice_for_an_exchanged_file_works(dataset, capsys, followed):
    run(dataset)
    Path("results/downloads/map.gr").write_bytes(MAP.replace(b"7", b"8"))
    line = error(dataset, capsys)
    advice = re.search(
        r"^build_dataset: (\S+): not the .*; delete the file to fetch it again, or (\S+) to", line
    )
    Path(advice[followed]).unlink()
    run(dataset)
    assert pins() == ["map.co.sha256", "map.gr.sha256"]


def test_two_builds_from_one_download_leave_a_whole_pin(dataset, monkeypatch):
    """The second writer begins when the first one has written its line, and is stopped there."""
    map_file = Path("results/downloads/map.gr").absolute()
    metadata = {"file_sha256": "a" * 64, "coordinates_sha256": "b" * 64}
    written, begun, checked = (threading.Event() for _ in range(3))
    original = Path.write_text

    def write_text(path, text, **options):
        if threading.current_thread() is second:
            with path.open("w", **options) as file:
                begun.set()
                checked.wait(10)
                return file.write(text)
        count = original(path, text, **options)
        written.set()
        begun.wait(10)
        return count

    def pin_again():
        written.wait(10)
        pin_downloads(dataset, [map_file], metadata)

    monkeypatch.setattr(Path, "write_text", write_text)
    second = threading.Thread(target=pin_again)
    second.start()
    try:
        pin_downloads(dataset, [map_file], metadata)
        assert pinned(map_file) == "a" * 64
    finally:
        checked.set()
        second.join()
    assert pinned(map_file) == "a" * 64
    assert [path.name for path in map_file.parent.iterdir()] == ["map.gr.sha256"]


def test_files_of_this_machine_are_not_pinned(dataset, tmp_path):
    local = tmp_path / "mine.gr"
    local.write_bytes(MAP)
    given = Dataset(format="dimacs", path=str(local)).model_dump()
    outputs = {"metadata": "results/graphs/mine/graph.json"}
    entry = {"dataset": given, "about": {}}
    run_script("build_dataset", log=Path("log"), inputs={"files": [local]}, outputs=outputs, **entry)
    assert not list(tmp_path.glob("*.sha256"))
