"""Downloads from a server that lies, on the loopback, into folders with damaged leftovers; and file names."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fuzz.mutate import damaged, tree_damaged
from fuzz.target import Target, outcome
from relaxometer.datasets.download import Retries, fetch

NAME = "file.gr.gz"
PATIENCE = Retries(attempts=2, pause_s=0, longest_pause_s=0, read_timeout_s=5)
CONTENT = hashlib.shake_256(b"content").digest(3000)
OTHER = hashlib.shake_256(b"other").digest(2500)
PAGE = b"<!DOCTYPE html>\n<title>Log in</title>\n"

PLACES = [
    *(
        "http://127.0.0.1:{port}/",
        "//127.0.0.1:{port}/..",
        "http://a@127.0.0.1:{port}",
        "?",
        "",
        "http:",
        "//",
    ),
    *("http://..", "http://[/b", "http://x:99999999/", "file:///etc/passwd", "\xff\xfe"),
]
"""Targets of redirects."""

Answer = Callable[[bytes], bytes]
"""Makes a response, as raw bytes, from the head of a request."""


class Server:
    """Sends the next answer of its plan to each request, then a good one, and closes each connection."""

    def __init__(self) -> None:
        self.plan: list[Answer] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        """Where a good server would have the file."""
        return f"http://127.0.0.1:{self.port}/data/{NAME}"

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                try:
                    self._answer(connection)
                except OSError:
                    continue  # the client hung up

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        head = b""
        while b"\r\n\r\n" not in head and (received := connection.recv(1 << 16)):
            head += received
        answer = self.plan.pop(0) if self.plan else good(CONTENT, '"1"')
        connection.sendall(answer(head))
        connection.shutdown(socket.SHUT_WR)


@cache
def server() -> Server:
    """Start the server of this process."""
    return Server()


@contextmanager
def no_other_server(port: int) -> Iterator[None]:
    """Reach the server at `port` and nothing else, neither by a redirect nor through a proxy."""
    resolve = socket.getaddrinfo

    def resolve_ours(host: Any, service: Any, *arguments: Any, **options: Any) -> Any:
        if (str(host), str(service)) != ("127.0.0.1", str(port)):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, service, *arguments, **options)

    with patch.object(socket, "getaddrinfo", resolve_ours), patch.dict(os.environ, NO_PROXY="*"):
        yield


def response(status: str, body: bytes, *headers: str) -> bytes:
    """Return a response as a server sends it."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "\r\n"]).encode("latin-1", "replace") + body


def good(content: bytes, tag: str, cut: int | None = None) -> Answer:
    """Answer as a good server does, which may end early."""

    def answer(head: bytes) -> bytes:
        wanted = re.search(rb"\r\nRange: bytes=(\d+)-\r\n", head)
        same = f"If-Range: {tag}\r\n".encode() in head or b"If-Range" not in head
        start = int(wanted[1]) if wanted and same else 0
        if start >= len(content) > 0:
            return response("416 Range Not Satisfiable", b"")
        length, rest = f"Content-Length: {len(content) - start}", content[start:cut]
        if not start:
            return response("200 OK", rest, length, f"ETag: {tag}")
        span = f"Content-Range: bytes {start}-{len(content) - 1}/{len(content)}"
        return response("206 Partial Content", rest, length, span)

    return answer


def chunked(content: bytes, step: int) -> bytes:
    """Return `content` in the chunks of a transfer encoding."""
    parts = [content[start : start + step] for start in range(0, len(content), step)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def answer_of(rng: random.Random, port: int, honest: bool) -> Answer:
    """Return a random answer; an honest one tags its content rightly, and arrives as sent."""
    contents = [(CONTENT, '"1"'), (CONTENT, '"1"'), (OTHER, '"2"'), (OTHER, '"1"')]
    content, tag = rng.choice(contents[:3] if honest else contents)
    cut = rng.randrange(len(content)) if rng.random() < 0.5 else None
    place = rng.choice(PLACES).format(port=port)
    length = rng.choice([str(len(content)), "0", "-1", "9" * 400, "9" * 5000, "٣", "7", "1e3", "3001"])
    span = rng.choice(["bytes 0-9/3000", "bytes 5-2999/3000", "bytes */3000", "x", f"bytes {'9' * 5000}-/*"])
    whole = content[:cut]
    fixed = {
        "no length": response("200 OK", whole),
        "odd length": response("200 OK", whole, f"Content-Length: {length}", f"ETag: {tag}"),
        "two lengths": response("200 OK", whole, f"Content-Length: {length}", "Content-Length: 3000"),
        "chunks": response("200 OK", chunked(whole, rng.choice([1, 7, 900])), "Transfer-Encoding: chunked"),
        "cut chunks": response("200 OK", chunked(content, 50)[:cut], "Transfer-Encoding: chunked"),
        "odd range": response("206 Partial Content", whole, f"Content-Range: {span}"),
        "redirect": response(rng.choice(["301 M", "302 F", "307 T"]), whole, f"Location: {place}"),
        "refusal": response(
            rng.choice(["404 N", "403 F", "500 E", "503 B", "416 R", "304 N", "999 ?"]), whole
        ),
        "page": response("200 OK", PAGE, f"Content-Length: {len(PAGE)}"),
        "nothing": response("200 OK", b"", "Content-Length: 0"),
        "long": response("200 OK", content * 200, "ETag: \x1b]0;owned\x07"),
        "silence": b"",
        "noise": rng.choice([b"\x1b]0;owned\x07\r\n\r\n", b"HTTP/1.1 200\r\n" + b"A: b\r\n" * 200, CONTENT]),
    }
    kind = rng.choice(["good", "good", "good", *fixed])
    answer = good(content, tag, cut) if kind == "good" else lambda head: fixed[kind]
    if honest:
        return answer
    seed = rng.random()
    return lambda head: damaged(random.Random(seed), answer(head))


def leftovers_of_an_earlier_run(rng: random.Random, url: str) -> dict[str, bytes]:
    """Return a part, its tag and a pin by ending, each damaged or missing."""
    part = CONTENT[: rng.randrange(len(CONTENT) + 1)]
    pin = f"{hashlib.sha256(CONTENT).hexdigest()}  {NAME}\n".encode()
    tag = json.dumps(tree_damaged(rng, [url, '"1"']), default=str).encode()
    kept = {
        ".part": rng.choice([part, part, damaged(rng, part), OTHER * 2]),
        ".part.json": damaged(rng, tag) if rng.random() < 0.3 else tag,
        ".sha256": rng.choice([pin, damaged(rng, pin)]),
    }
    return {ending: content for ending, content in kept.items() if rng.random() < 0.4}


def try_download(rng: random.Random, folder: Path) -> None:
    """Fetch a file, and check it, or that there is none."""
    running, honest = server(), rng.random() < 0.5
    running.plan = [answer_of(rng, running.port, honest) for _ in range(rng.choice([0, 1, 1, 2, 3, 5]))]
    leftovers = leftovers_of_an_earlier_run(rng, running.url)
    target = folder / "downloads" / NAME
    target.parent.mkdir()
    for ending, content in leftovers.items():
        target.with_name(NAME + ending).write_bytes(content)
    mirrors = []
    if rng.random() < 0.3:
        (folder / "mirror").mkdir()
        (folder / "mirror" / NAME).write_bytes(rng.choice([CONTENT, OTHER, b"", PAGE, CONTENT[:99]]))
        odd = rng.choice(["", "~nobody", "a\0b", "x" * 5000, "http://[", "https://", "/dev"])
        mirrors = rng.sample([str(folder / "mirror"), odd], 2)
    sha256 = rng.choice([None, hashlib.sha256(CONTENT).hexdigest()])
    n_bytes = rng.choice([None, len(CONTENT)])
    good_server = not (running.plan or leftovers or mirrors)

    with no_other_server(running.port):
        options = {"sha256": sha256, "expected_bytes": n_bytes, "mirrors": mirrors}
        outcome(fetch, [running.url], target, retries=PATIENCE, **options)

    wrote = {file.name.removeprefix(NAME) for file in target.parent.iterdir()}
    assert wrote <= {"", ".part", ".part.json", ".sha256"}, f"wrote {wrote}"
    assert {file.name for file in folder.iterdir()} <= {"downloads", "mirror"}, "wrote elsewhere"
    pin = target.with_name(NAME + ".sha256")
    now = pin.read_bytes() if pin.exists() else None
    assert now == leftovers.get(".sha256"), "the download changed its pin"
    assert target.exists() or not good_server, "a good server's file was refused"
    if target.exists():
        assert wrote <= {"", ".sha256"}
        content = target.read_bytes()
        pinned = re.match(rb"[0-9a-f]{64}", now or b"")
        expected = sha256 or (pinned[0].decode() if pinned else None)
        assert expected in (None, hashlib.sha256(content).hexdigest()), "wrong checksum"
        assert n_bytes in (None, len(content)), "wrong size"
        assert sha256 or (content and not content.startswith(b"<!DOCTYPE html")), "nothing, or an HTML page"
        if honest and not leftovers:
            versions = (version * 200 for version in (CONTENT, OTHER))
            assert any(version.startswith(content) for version in versions), "a mixture of two versions"


TARGETS = [Target("download", try_download, share=3)]
