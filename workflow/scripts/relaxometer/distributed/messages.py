"""Bitmaps on their way: as they are, or as the distances between their bits, whichever is shorter.

A compressed message holds, for each bit that is set, how many bits are not set between it and the one before,
seven bits to a byte, low ones first, the eighth saying that more follow. It is sent where it is shorter than
the bitmap, so the length of a message tells which of the two it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relaxometer.distributed.comm import Message, Ranks

WORD = 32
DIGIT = 7
"""Bits of a distance in a byte."""


def encoded(xp: Any, words: Any) -> Any:
    """Return the shorter message of a bitmap, shape (n_bytes,), uint8.

    Parameters
    ----------
    xp : module
        NumPy or CuPy.
    words : array of shape (n_words,), uint32
    """
    plain = words.view(np.uint8)
    occupied = xp.flatnonzero(words)
    if len(occupied) >= len(plain):
        return plain
    bits = xp.unpackbits(words[occupied].view(np.uint8), bitorder="little")
    set_ = xp.flatnonzero(bits)
    places = occupied[set_ // WORD] * WORD + set_ % WORD
    gaps = xp.diff(places, prepend=xp.full(1, -1, dtype=places.dtype)) - 1
    lengths = xp.ones(len(gaps), dtype=np.int64)
    for digits in range(1, 5):
        lengths += gaps >= 1 << DIGIT * digits
    through = xp.cumsum(lengths)
    size = int(through[-1]) if len(through) else 0
    if size >= len(plain):
        return plain
    message = xp.zeros(size, dtype=np.uint8)
    begin = through - lengths
    for digit in range(5):
        has = lengths > digit
        low = (gaps[has] >> DIGIT * digit) & 127
        more = (lengths[has] > digit + 1) * 128
        message[begin[has] + digit] = (low + more).astype(np.uint8)
    return message


def decode(xp: Any, message: Any, words: Any) -> None:
    """Write the bitmap of a message into `words`, shape (n_words,), uint32."""
    if len(message) == words.nbytes:
        words.view(np.uint8)[...] = message
        return
    words[...] = 0
    last = xp.flatnonzero(message < 128)
    if not len(last):
        return
    begin = xp.concatenate([xp.zeros(1, dtype=last.dtype), last[:-1] + 1])
    gaps = xp.zeros(len(last), dtype=np.int64)
    for digit in range(5):
        at = begin + digit
        has = at <= last
        gaps[has] |= (message[at[has]].astype(np.int64) & 127) << DIGIT * digit
    places = xp.cumsum(gaps + 1) - 1
    # Bits of one word differ, so that their sum is their union.
    bits = xp.left_shift(np.uint32(1), (places % WORD).astype(np.uint32))
    xp.add.at(words, places // WORD, bits)


def exchange_bitmaps(
    ranks: Ranks, kind: str, sends: Sequence[Message], receives: Sequence[Message], *, compressed: bool
) -> None:
    """Exchange bitmaps; as :meth:`Ranks.exchange`, with messages as short as they can be if `compressed`."""
    if not compressed:
        ranks.exchange(kind, sends, receives)
        return
    xp = ranks.device.xp
    outgoing = [(peer, words if peer == ranks.rank else encoded(xp, words)) for peer, words in sends]
    lengths = ranks.exchange_lengths(outgoing, [peer for peer, _ in receives])
    incoming = [
        (peer, words if peer == ranks.rank else xp.empty(length, dtype=np.uint8))
        for (peer, words), length in zip(receives, lengths, strict=True)
    ]
    ranks.exchange(kind, outgoing, incoming)
    saved = sum(words.nbytes for _, words in sends) - sum(message.nbytes for _, message in outgoing)
    ranks.traffic.kinds[kind].plain_bytes += saved
    for (peer, words), (_, message) in zip(receives, incoming, strict=True):
        if peer != ranks.rank:
            decode(xp, message, words)
