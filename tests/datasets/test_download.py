"""Downloads from a local server that misbehaves in every way that servers do."""

import errno
import gzip
import hashlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import namedtuple
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import built
from faults import largest_file
from relaxometer.core.errors import UserError
from relaxometer.core.files import write_text
from relaxometer.datasets import download, transfer
from relaxometer.datasets.download import Retries, fetch
from relaxometer.datasets.pins import pin_of

CONTENT = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PAGE = b"<html>log in</html>\n"
PAGE_SHA256 = hashlib.sha256(PAGE).hexdigest()
HALF = len(CONTENT) // 2
QUICK = Retries(attempts=3, pause_s=0.01, longest_pause_s=0.02, connect_timeout_s=2, read_timeout_s=1)


class Handler(BaseHTTPRequestHandler):
    """Answers with the next behaviour of the server's plan, then as a good server does."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        behaviour = self.server.plan.pop(0) if self.server.plan else good
        behaviour(self)
        self.close_connection = True

    def log_message(self, *args):
        pass

    def head(self, status, length=None, **headers):
        self.send_response(status)
        self.send_header("Connection", "close")
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def wanted_range(self, tag='"1"'):
        """Return where the client wants to go on; 0 if it does not, or if its file is another."""
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        same = self.headers.get("If-Range", tag) == tag
        return int(found[1]) if found and same else 0


def good(handler, content=CONTENT, tag='"1"', until=None):
    """Answer with ranges and an ETag; send only up to `until`."""
    start = handler.wanted_range(tag)
    if start:
        span = f"bytes {start}-{len(content) - 1}/{len(content)}"
        handler.head(206, len(content) - start, ETag=tag, Content_Range=span)
    else:
        handler.head(200, len(content), ETag=tag)
    handler.wfile.write(content[start:until])


def cut(handler):
    good(handler, until=HALF)


def stall(handler):
    good(handler, until=HALF)
    handler.wfile.flush()
    handler.server.release.wait(2)


def plain(content, length=None, **headers):
    """Return a behaviour without ranges and tag."""

    def answer(handler):
        handler.head(200, length, **headers)
        handler.wfile.write(content)

    return answer


def changed(handler):
    good(handler, content=CONTENT[::-1], tag='"2"')


def ranges_of_another_file(handler):
    """Go on where the client left off, but with another file."""
    start = handler.wanted_range()
    handler.head(206, len(CONTENT) - start, Content_Range=f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
    handler.wfile.write(CONTENT[::-1][start:])


def wrong_part(handler):
    handler.head(206, 10, Content_Range=f"bytes 0-9/{len(CONTENT)}")
    handler.wfile.write(CONTENT[:10])


def status(code, **headers):
    return lambda handler: handler.head(code, 0, **headers)


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.plan, running.asked, running.release = [], [], threading.Event()
        running.url = f"http://127.0.0.1:{running.server_port}/data/file.gr.gz"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.release.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def destination(tmp_path):
    return tmp_path / "downloads/file.gr.gz"


def fetch_checked(server, destination, plan=(), **options):
    server.plan[:] = plan
    fetch([server.url], destination, **{"sha256": SHA256, "retries": QUICK, **options})
    assert destination.read_bytes() == CONTENT
    assert [file.name for file in destination.parent.iterdir()] == [destination.name]


def refusal(server, destination, plan=(), urls=None, **options):
    server.plan[:] = plan
    options = {"sha256": SHA256, "retries": QUICK, **options}
    message = built.refusal(fetch, [server.url] if urls is None else urls, destination, **options)
    assert not destination.exists()
    return message


def test_a_good_server_is_asked_once(server, destination, capsys, monkeypatch):
    monkeypatch.setattr(download, "_INTERVAL_S", 0)
    for _ in range(2):
        fetch_checked(server, destination, terms="ODbL 1.0; © OSM", expected_bytes=len(CONTENT))
    ((path, headers),) = server.asked
    assert path == "/data/file.gr.gz"
    assert headers["User-Agent"].startswith("relaxometer/")
    assert "Range" not in headers
    printed = capsys.readouterr().err
    for line in ("ODbL 1.0; © OSM", "1.0 MB of 1.0 MB", f"1.0 MB from {server.url}, sha256 as expected"):
        assert f"file.gr.gz: {line}\n" in printed
    destination.write_bytes(b"another")
    fetch_checked(server, destination)
    assert len(server.asked) == 2


@pytest.mark.parametrize("failure", [cut, stall], ids=lambda behaviour: behaviour.__name__)
def test_an_interrupted_download_goes_on_where_it_ended(server, destination, failure):
    fetch_checked(server, destination, [failure])
    _, (_, second) = server.asked
    assert second["Range"] == f"bytes={HALF}-"
    assert second["If-Range"] == '"1"'


@pytest.mark.parametrize("sha256", [SHA256, None], ids=["checksum", "tag only"])
def test_a_download_goes_on_in_a_later_run(server, destination, sha256):
    refusal(server, destination, [cut, status(404)], sha256=sha256)
    assert destination.with_name("file.gr.gz.part").stat().st_size == HALF
    fetch([server.url], destination, sha256=sha256, retries=QUICK)
    assert destination.read_bytes() == CONTENT
    assert server.asked[-1][1]["Range"] == f"bytes={HALF}-"


@pytest.mark.parametrize("progress", [100, 101])
def test_only_progress_renews_the_attempts(server, destination, progress):
    steps = [lambda handler, end=end: good(handler, until=end) for end in range(100, 700, 100)]
    retries = replace(QUICK, progress=progress)
    if progress == 100:
        fetch_checked(server, destination, steps, retries=retries)
    else:
        assert "(3 attempts)" in refusal(server, destination, steps, retries=retries)


@pytest.mark.parametrize(
    "plan",
    [
        [cut, plain(CONTENT, len(CONTENT))],
        [cut, changed],
        [cut, ranges_of_another_file],
        [cut, wrong_part],
        [cut, status(416)],
        [status(500), status(503, Retry_After="0"), good],
        [plain(CONTENT)],
        [plain(CONTENT[:HALF])],
    ],
)
def test_transient_failures_are_retried(server, destination, plan):
    fetch_checked(server, destination, plan, expected_bytes=len(CONTENT))


def test_a_part_without_tag_or_checksum_is_not_trusted(server, destination):
    server.plan[:] = [plain(CONTENT[:HALF], len(CONTENT))]
    fetch([server.url], destination, retries=QUICK)
    assert destination.read_bytes() == CONTENT
    assert all("Range" not in headers for _, headers in server.asked)


def test_the_body_is_kept_as_sent(server, destination):
    # Some servers declare the compression of a .gz to be that of the transfer.
    body = gzip.compress(b"text", mtime=0)
    server.plan[:] = [plain(body, len(body), Content_Encoding="gzip")]
    fetch([server.url], destination, retries=QUICK)
    assert destination.read_bytes() == body


@pytest.mark.parametrize(
    ("encoding", "remedy"), [("gzip", r"give `file: file\.gr\.gz` in the entry, or fetch"), ("br", "fetch")]
)
def test_a_body_compressed_on_the_way_is_refused_with_a_remedy(server, tmp_path, encoding, remedy):
    url = server.url.removesuffix(".gz")
    server.plan[:] = [status(200, Content_Encoding=encoding)] * 2
    said = rf"compresses it on the way \(Content-Encoding: {encoding}\); {remedy}"
    with pytest.raises(UserError, match=said):
        fetch([url], tmp_path / "file.gr", retries=QUICK)


@pytest.mark.parametrize(
    ("plan", "n_bytes", "times", "end"),
    [
        ([status(403)], None, 1, "the server answers 403 Forbidden"),
        ([status(500)] * 9, None, 3, "the server answers 500 Internal Server Error (3 attempts)"),
        ([plain(PAGE, 20)], len(CONTENT), 1, f"the file there has 20 bytes, expected {len(CONTENT)}"),
        ([plain(PAGE, 20)], None, 1, f"the file there has sha256 {PAGE_SHA256}, expected {SHA256}"),
        ([status(302, Location="http://[/b")], None, 1, "Invalid IPv6 URL"),
        ([status(302, Location="file:///etc/passwd")], None, 1, "'file:///etc/passwd'"),
        ([status(302, Location="/data/file.gr.gz")] * 40, None, 31, "more than 30 redirects"),
    ],
)
def test_a_refusal_names_the_location_and_leaves_nothing(server, destination, plan, n_bytes, times, end):
    message = refusal(server, destination, plan, expected_bytes=n_bytes)
    assert message.startswith(f"file.gr.gz could not be fetched; tried {server.url}: ")
    assert message.endswith(end)
    assert len(server.asked) == times
    assert not list(destination.parent.iterdir())


def test_every_location_is_named(server, destination, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}/file.gr.gz"
        message = refusal(server, destination, [status(404)], [closed, server.url], mirrors=[str(tmp_path)])
    assert message == (
        f"file.gr.gz could not be fetched; tried {tmp_path}/file.gr.gz: no such file; "
        f"{closed}: [Errno 111] Connection refused (3 attempts); "
        f"{server.url}: the server answers 404 Not Found"
    )
    assert "nothing: no URL" in refusal(server, destination, urls=[])


@pytest.mark.parametrize("is_url", [False, True])
def test_mirrors_come_first(server, destination, tmp_path, is_url):
    (tmp_path / "file.gr.gz").write_bytes(CONTENT)
    mirror = server.url.rpartition("/data")[0] + "/mirror/" if is_url else str(tmp_path)
    fetch_checked(server, destination, mirrors=[str(tmp_path / "none"), mirror])
    assert [path for path, _ in server.asked] == ["/mirror/file.gr.gz"] * is_url


def test_a_pinned_checksum_is_expected_and_a_damaged_pin_is_one_line(server, destination):
    pin = pin_of(destination)
    write_text(f"{SHA256}  file.gr.gz\n", pin)
    message = refusal(server, destination, [changed], sha256=None)
    assert message.endswith(f"expected {SHA256} as first read; to accept the new file, delete {pin}")
    fetch([server.url], destination, retries=QUICK)
    assert destination.read_bytes() == CONTENT
    destination.unlink()
    pin.unlink()
    server.plan[:] = [changed]
    fetch([server.url], destination, retries=QUICK)
    assert destination.read_bytes() == CONTENT[::-1]
    destination.unlink()
    pin.write_bytes(b"\xff\xfe" * 40)
    message = refusal(server, destination, sha256=None)
    assert message.endswith("expected a line '<sha256>  file.gr.gz'; delete it to accept the file")


@pytest.mark.parametrize(("answer", "fault"), [(b"", "is empty"), (b"\n<!DOCTYPE HTML>\n<p>Hi", "HTML page")])
def test_without_a_checksum_no_empty_file_and_no_page_is_taken(server, destination, answer, fault):
    assert fault in refusal(server, destination, [plain(answer)], sha256=None)
    assert not list(destination.parent.iterdir())


@pytest.mark.parametrize("name", ["..", "a\x1b[2Jb", "a.gr.part"])
def test_nothing_is_written_under_a_bad_name(server, tmp_path, name):
    message = refusal(server, tmp_path / "downloads" / name)
    assert "should be one plain file name, as in `file: name.gr.gz`" in message
    assert not server.asked
    assert not list(tmp_path.iterdir())


def endless(handler):
    """Send without end and without a length, and count the bytes."""
    handler.head(200)
    try:
        while handler.server.sent < 1 << 30:
            handler.server.sent += len(CONTENT)  # before, since a write that fails may have sent a part
            handler.wfile.write(CONTENT)
    except OSError:
        handler.server.release.set()


@pytest.mark.parametrize(("promised", "limit"), [(1000, 1000), (None, 3_000_000)], ids=["bytes", "none"])
def test_a_body_that_is_too_long_is_stopped(server, destination, monkeypatch, promised, limit):
    monkeypatch.setattr(transfer, "MAX_UNDECLARED", 3_000_000)
    server.sent = 0
    message = refusal(server, destination, [endless], sha256=None, expected_bytes=promised)
    assert server.release.wait(5)
    assert limit <= server.sent < limit + (64 << 20)  # what the buffers of both ends hold
    wanted = "more than the expected 1000 bytes" if promised else "give `bytes` in the dataset's entry"
    assert wanted in message
    assert not list(destination.parent.iterdir())


def test_a_body_that_drips_is_given_up(server, destination):
    def drip(handler):
        handler.head(200, len(CONTENT))
        for _ in range(40):
            handler.wfile.write(b"x")
            handler.server.release.wait(0.02)

    patience = Retries(attempts=1, read_timeout_s=0.2)
    message = refusal(server, destination, [drip], retries=patience)
    assert re.search(r": only \d+ bytes in 0 s \(1 attempts\)$", message)


def test_a_lack_of_space_is_noticed_first(server, destination, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10, 0, 10))
    message = refusal(server, destination)
    assert message.endswith(f": 1.0 MB needed in {destination.parent}, but only 0.0 MB are free")


def test_a_folder_that_takes_no_more_is_one_line_and_keeps_the_part(server, destination, tmp_path):
    (tmp_path / "a-file").touch()
    assert "cannot be written: " in refusal(server, tmp_path / "a-file/file.gr.gz")
    with largest_file(HALF):
        message = refusal(server, destination)
    assert message == f"{destination.parent}: cannot be written: File too large"
    fetch_checked(server, destination)
    assert server.asked[-1][1]["Range"] == f"bytes={HALF}-"


def test_the_body_of_a_redirect_is_not_read(server, destination):
    def redirect(handler):
        handler.send_response(302)
        handler.send_header("Location", server.url)
        endless(handler)

    server.sent = 0
    fetch_checked(server, destination, [redirect])
    assert server.sent < 64 << 20


def test_mirrors_of_the_environment_may_be_urls(monkeypatch):
    monkeypatch.setenv("RELAXOMETER_DATA_MIRRORS", "/a:http://x.org:80/b:../c::https://y.org/d")
    expected = ["z", "/a", "http://x.org:80/b", "../c", "https://y.org/d"]
    assert download.all_mirrors(["z"]) == expected


def test_pauses_grow_and_are_printed(server, destination, monkeypatch, capsys):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    retries = Retries(attempts=6, pause_s=1, longest_pause_s=5)
    refusal(server, destination, [status(500)] * 9, retries=retries)
    assert pauses == [1, 2, 4, 5, 5]
    told = "file.gr.gz: the server answers 500 Internal Server Error; next attempt in 4 s\n"
    assert told in capsys.readouterr().err


FETCH = """
import sys
from pathlib import Path
from relaxometer.datasets.download import fetch
fetch([sys.argv[1]], Path(sys.argv[2]), sha256=sys.argv[3] or None)
"""


def in_another_process(server, destination, sha256=SHA256):
    command = [sys.executable, "-c", FETCH, server.url, str(destination), sha256 or ""]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def hold_back(handler, rest=CONTENT[HALF:]):
    """Send half of the file, and the rest when the test says so."""
    handler.head(200, len(CONTENT), ETag='"1"')
    handler.wfile.write(CONTENT[:HALF])
    handler.wfile.flush()
    handler.server.release.wait(60)
    handler.wfile.write(rest)


def test_a_second_process_waits_and_takes_the_file_of_the_first(server, destination):
    server.plan[:] = [hold_back]
    with in_another_process(server, destination, None) as first:
        while not server.asked:
            assert first.poll() is None
            time.sleep(0.01)
        with in_another_process(server, destination, None) as second:
            waiting = second.stderr.readline()
            server.release.set()
            said = second.stderr.read()
    assert (first.returncode, second.returncode) == (0, 0)
    assert waiting == "file.gr.gz: another process is fetching it; waiting\n"
    assert said.startswith("file.gr.gz: 1.0 MB from another process, sha256 ")
    assert len(server.asked) == 1
    assert destination.read_bytes() == CONTENT
    assert [file.name for file in destination.parent.iterdir()] == [destination.name]


def test_a_file_system_without_locks_is_used_without(server, destination, monkeypatch):
    def no_locks(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(transfer.fcntl, "flock", no_locks)
    fetch_checked(server, destination)
