"""Damage to bytes and to trees of values, drawn from a generator so that a seed repeats it."""

import copy
import random
import re
from collections.abc import Callable
from typing import Any

NUMBERS = [
    *(b"0", b"1", b"2", b"7", b"-1", b"+1", b"-0", b"00", b"0x1", b"1_0", b"1.5", b".5", b"1.", b".", b"1e3"),
    *(b"1e400", b"1e-400", b"-1e9", b"nan", b"inf", b"NaN", b"Infinity", b"255", b"65536", b"1048577"),
    *(b"2147483648", b"4000000000", b"4294967294", b"4294967295", b"4294967296", b"9223372036854775807"),
    *(b"9223372036854775808", b"18446744073709551616", b"9" * 30, b"1" * 400, b"1" * 5000),
]
PIECES = [
    *NUMBERS,
    *(b"", b" ", b"  ", b"\t", b"\n", b"\n\n", b"\r", b"\r\n", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\0"),
    *(b"\xff", b"\xff\xfe", b"\xc2\xa0", b"\xe2\x80\xa8", b"\x1b]0;owned\x07", b"\xed\xa0\x80"),
    *(b"a", b"p", b"c", b"v", b"x", b"%", b"#", b"%%", b":", b"- ", b"{", b"}", b"[", b"]", b'"', b"'", b","),
    *(b"&a ", b"*a", b"<<: ", b"!!python/object:os.system ", b"!!binary ", b"? ", b"| ", b"---\n"),
    *(b"true", b"null", b"2001-99-99", "é²٣".encode(), b"[" * 2000, b"{a: " * 300),
    *(b"a 1 2 3\n", b"p sp 3 3\n", b"p tw 3 3\n", b"1 2 3\n", b"1 2\n", b"c comment\n", b"3 3 3\n"),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 7, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, 10**30, 10**400),
    *(0.5, -0.0, 1e308, 1e-320, float("inf"), float("nan")),
    *("", " ", "a", "yes", "0", "-1", "1e400", "x" * 300, "\x1b]0;owned\x07", "é²٣", "\u202e", "\ufeff"),
    *("../x", "..", ".", "/etc/passwd", "{wildcard}", "a/b", "http://[/b", "http://h/..%2Fx", "%00", "$HOME"),
    *("null", "*"),
    *([], {}, [[]], [None], {"a": 1}, {"": None}, [1, 2, 3], ["a"] * 50),
]


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return `content` with up to four changes; sometimes unchanged."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 4])):
        start = rng.randrange(len(content) + 1)
        stop = min(start + int(rng.expovariate(0.2)), len(content))
        content = rng.choice(_CHANGES)(rng, content, start, stop)
    return content


def _number(rng: random.Random, content: bytes, *_: int) -> bytes:
    """Replace a number by another."""
    numbers = list(re.finditer(rb"[0-9]+", content))
    if not numbers:
        return content
    found = rng.choice(numbers)
    value = rng.choice([b"%d" % (int(found[0][:18]) + rng.choice([-1, 1])), rng.choice(NUMBERS)])
    return content[: found.start()] + value + content[found.end() :]


def _lines(rng: random.Random, content: bytes, *_: int) -> bytes:
    """Exchange, drop or repeat lines."""
    lines = content.splitlines(keepends=True)
    if lines:
        one = rng.randrange(len(lines))
        lines[one] = rng.choice([b"", rng.choice(lines), lines[one] * 2])
    return b"".join(lines)


def _byte(rng: random.Random, content: bytes, at: int, _: int) -> bytes:
    """Flip a bit of a byte, or replace it."""
    known = content[at : at + 1]
    values = [0, 1, 127, 128, 255, rng.randrange(256), *3 * [known and known[0] ^ 1 << rng.randrange(8)]]
    return content[:at] + (known and bytes([rng.choice(values)])) + content[at + 1 :]


_CHANGES: list[Callable[[random.Random, bytes, int, int], bytes]] = [
    lambda rng, content, start, stop: content[:start] + rng.choice(PIECES) + content[stop:],
    lambda rng, content, start, stop: content[:start] + rng.choice(PIECES) + content[start:],
    lambda rng, content, start, stop: content[:start] + content[stop:],
    lambda rng, content, start, stop: (
        content[:start] + content[start:stop] * rng.choice([2, 2, 3, 20, 1000]) + content[stop:]
    ),
    lambda rng, content, start, stop: content[:start],
    # The first numbers, which announce a size in many formats.
    lambda rng, content, start, stop: re.sub(
        rb"\b[0-9]+\b", rng.choice(NUMBERS), content, count=rng.choice([1, 2])
    ),
    *(_lines, _byte, _byte, _number, _number),
]


def tree_damaged(rng: random.Random, tree: Any) -> Any:
    """Return a copy of nested mappings and lists with up to three values, keys or branches changed."""
    if rng.random() < 0.02:
        return rng.choice(VALUES)
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        branches = list(_branches(tree))
        if not branches:
            return rng.choice(VALUES)
        branch = rng.choice(branches)
        keys = list(branch) if isinstance(branch, dict) else list(range(len(branch)))
        if not keys:
            continue
        key = rng.choice(keys)
        kind = rng.randrange(6)
        if kind == 0:
            del branch[key]
        elif kind == 1 and isinstance(branch, dict):
            branch[rng.choice(["", "a", "x" * 200, "\x1b]0;x", "file", "format", 7, None, True])] = (
                branch.pop(key)
            )
        elif kind == 1:
            branch.append(branch[key])
        elif kind == 2:
            branch[key] = [branch[key]]
        elif kind == 3:
            branch[key] = copy.deepcopy(rng.choice(branches))
        else:
            branch[key] = copy.deepcopy(rng.choice(VALUES))
    return tree


def _branches(tree: Any, depth: int = 0) -> Any:
    if isinstance(tree, dict | list) and depth < 20:
        yield tree
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from _branches(value, depth + 1)
