"""Downloads without a checksum: the first file that a reader accepts fixes it, and advice works."""

import hashlib
import re
from pathlib import Path

import pytest

from relaxometer.datasets.pins import pin_downloads, pinned
from relaxometer.datasets.registry import Dataset
from script_runs import run_script

MAP = b"p sp 3 3\na 1 2 5\na 2 3 6\na 3 1 7\n"
PLACES = b"p aux sp co 3\nv 1 0 0\nv 2 1 1\nv 3 2 2\n"
GR, CO = Path("results/downloads/map.gr"), Path("results/downloads/map.co")


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """Serve the files from a folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mirror"
    folder.mkdir()
    (folder / "map.gr").write_bytes(MAP)
    (folder / "map.co").write_bytes(PLACES)
    monkeypatch.setenv("RELAXOMETER_DATA_MIRRORS", str(folder))
    return folder


NOWHERE = "http://127.0.0.1:9/map"
DATASET = Dataset(format="dimacs", url=f"{NOWHERE}.gr", coordinates={"url": f"{NOWHERE}.co"})


def run(dataset=DATASET):
    """Fetch the files that are missing and build the graph, as the workflow does."""
    for path, file in zip((GR, CO), dataset.files, strict=True):
        if not path.exists():
            download = {"file": {**file.as_download(), "urls": []}, "terms": dataset.terms}
            run_script("download_file", log=Path("log"), inputs={}, outputs={"file": path}, **download)
    build(dataset, [GR, CO])


def build(dataset, files):
    outputs = {"metadata": "results/graphs/mine/graph.json"}
    entry = {"dataset": dataset.model_dump(), "about": {}}
    run_script("build_dataset", log=Path("log"), inputs={"files": files}, outputs=outputs, **entry)


def error(capsys, dataset=DATASET):
    with pytest.raises(SystemExit):
        run(dataset)
    text = capsys.readouterr().err
    assert "Traceback" not in text
    (line,) = re.findall("^error: (.*)$", text, re.MULTILINE)
    return line


def pins():
    return sorted(path.name for path in Path("results/downloads").glob("*.sha256"))


@pytest.mark.parametrize("cut", [MAP[:-8], b"Please log in\n"])
def test_the_checksum_of_a_file_that_can_be_read_is_pinned(mirror, capsys, cut):
    (mirror / "map.gr").write_bytes(cut)
    advice = f"no checksum is known of {GR} and {CO}: if a download may be incomplete, delete it and run"
    assert advice in error(capsys)
    assert pins() == []
    (mirror / "map.gr").write_bytes(MAP)
    GR.unlink()
    run()
    assert pins() == ["map.co.sha256", "map.gr.sha256"]
    digest = hashlib.sha256(MAP).hexdigest()
    assert Path(f"{GR}.sha256").read_text(encoding="utf-8") == f"{digest}  map.gr\n"


def test_an_empty_file_needs_no_advice_and_counts_that_differ_pin_nothing(mirror, capsys):
    (mirror / "map.gr").write_bytes(b"")
    assert "map.gr could not be fetched" in error(capsys)
    (mirror / "map.gr").write_bytes(MAP)
    assert "3 arcs, but its dataset promises 4" in error(capsys, DATASET.model_copy(update={"arcs": 4}))
    assert pins() == []


@pytest.mark.parametrize("followed", [1, 2])
def test_the_advice_for_an_exchanged_file_works(mirror, capsys, followed):
    run()
    GR.write_bytes(MAP.replace(b"7", b"8"))
    line = error(capsys)
    advice = re.search(
        r"^build_dataset: (\S+): not the .*; delete the file to fetch it again, or (\S+) to", line
    )
    Path(advice[followed]).unlink()
    run()
    assert pins() == ["map.co.sha256", "map.gr.sha256"]


def test_the_advice_for_a_file_that_has_changed_works(mirror, capsys):
    run()
    GR.unlink()
    (mirror / "map.gr").write_bytes(MAP.replace(b"7", b"8"))
    (pin,) = re.findall(r"as first read; to accept the new file, delete ([^\s;]+)", error(capsys))
    Path(pin).unlink()
    run()
    assert Path(pin).is_file()


def test_two_builds_from_one_download_leave_a_whole_pin(mirror, monkeypatch):
    """The second writer begins when the first one has written its line, and dies there."""
    map_file, writers, original = GR.absolute(), [], Path.write_text
    metadata = {"file_sha256": "a" * 64, "coordinates_sha256": "b" * 64}

    def write_text(path, text, **options):
        writers.append(path)
        if len(writers) == 2:
            path.touch()
            raise InterruptedError
        count = original(path, text, **options)
        with pytest.raises(InterruptedError):
            pin_downloads(DATASET, [map_file], metadata)
        return count

    monkeypatch.setattr(Path, "write_text", write_text)
    pin_downloads(DATASET, [map_file], metadata)
    assert pinned(map_file) == "a" * 64
    assert [path.name for path in map_file.parent.iterdir()] == ["map.gr.sha256"]


def test_files_of_this_machine_are_not_pinned(mirror, tmp_path):
    build(Dataset(format="dimacs", path=str(mirror / "map.gr")), [mirror / "map.gr"])
    assert not list(tmp_path.rglob("*.sha256"))
