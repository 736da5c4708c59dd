"""Damage to bytes and to trees of values, drawn from a generator so that a seed repeats it."""

import copy
import random
import re
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


def damaged(rng: random.Random, content: bytes, most: int = 4) -> bytes:
    """Return `content` with up to `most` changes; sometimes unchanged."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, most])):
        content = rng.choice(_CHANGES)(rng, content)
    return content


def _span(rng: random.Random, content: bytes) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(start + int(rng.expovariate(0.2)), len(content))


def _replaced(rng: random.Random, content: bytes) -> bytes:
    start, stop = _span(rng, content)
    return content[:start] + rng.choice(PIECES) + content[stop:]


def _inserted(rng: random.Random, content: bytes) -> bytes:
    start, _ = _span(rng, content)
    return content[:start] + rng.choice(PIECES) + content[start:]


def _deleted(rng: random.Random, content: bytes) -> bytes:
    start, stop = _span(rng, content)
    return content[:start] + content[stop:]


def _doubled(rng: random.Random, content: bytes) -> bytes:
    start, stop = _span(rng, content)
    times = rng.choice([2, 2, 3, 20, 1000])
    return content[:start] + content[start:stop] * times + content[stop:]


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _flipped(rng: random.Random, content: bytes) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def _byte(rng: random.Random, content: bytes) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])]) + content[at + 1 :]


def _number(rng: random.Random, content: bytes) -> bytes:
    """Replace a number by another."""
    numbers = list(re.finditer(rb"[0-9]+", content))
    if not numbers:
        return content
    found = rng.choice(numbers)
    value = rng.choice([b"%d" % (int(found[0][:18]) + rng.choice([-1, 1])), rng.choice(NUMBERS)])
    return content[: found.start()] + value + content[found.end() :]


def _header(rng: random.Random, content: bytes) -> bytes:
    """Replace the first numbers, which announce a size in many formats."""
    return re.sub(rb"\b[0-9]+\b", rng.choice(NUMBERS), content, count=rng.choice([1, 2]))


def _lines(rng: random.Random, content: bytes) -> bytes:
    """Exchange, drop or repeat lines."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one] = rng.choice([b"", lines[other], lines[one] * 2])
    return b"".join(lines)


_CHANGES = (_replaced, _inserted, _deleted, _doubled, _cut, _flipped, _byte, _header, _lines, *2 * (_number,))


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
