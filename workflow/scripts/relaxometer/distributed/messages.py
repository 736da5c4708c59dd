"""Bitmaps on their way: as they are, or as the distances between their bits, whichever is shorter.

A compressed message holds, for each bit that is set, how many bits are not set between it and the one before,
seven bits to a byte, low ones first, the eighth saying that more follow. It is sent where it is shorter than
the bitmap, so the length of a message tells which of the two it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device, Kernel
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.transport import Message

WORD_BYTES = 4

MOST = 64
"""Bitmaps of a launch; the same as in ``messages.cu``."""

BLOCK = {"cuda": 1024, "host": 64}
"""Threads a block: as the launch bounds say, or what the emulation can do quickly."""

WORDS_A_THREAD = 4
"""What a thread takes of a bitmap before there are more blocks, which have to meet."""

PART = 3
"""Words that a block tells the others of its bitmap."""

BITMAPS = np.dtype([("addresses", np.uint64, MOST)])
MESSAGES = np.dtype([("addresses", np.uint64, MOST), ("bytes", np.uint32, MOST)])
"""Structures of ``messages.cu``."""


class Compression:
    """Makes messages of bitmaps and bitmaps of messages, and has the memory for the messages.

    Parameters
    ----------
    device : Device
    n_words : int
        Words of every bitmap, fewer than 2**27.
    """

    def __init__(self, device: Device, n_words: int) -> None:
        self._device, self._n_words = device, n_words
        module = device.module(Path(__file__).with_name("messages.cu"), cooperative=True)
        self._encode, self._decode = module.get_function("encode"), module.get_function("decode")
        self._threads = BLOCK[device.kind]
        self._blocks = min(
            device.max_cooperative_blocks(kernel, self._threads) for kernel in (self._encode, self._decode)
        )
        self._parts = device.xp.zeros(PART * self._blocks, dtype=np.uint32)
        self._lengths = device.xp.zeros(0, dtype=np.uint32)
        self._outgoing = self._incoming = self._rows(0)

    def encode(self, bitmaps: Sequence[Any]) -> list[Any]:
        """Return the shorter message of each bitmap.

        Parameters
        ----------
        bitmaps : sequence of array of shape (n_words,), uint32

        Returns
        -------
        list of array of shape (n_bytes,), uint8
            The bitmap's own bytes where a compressed message would not be shorter; else memory that the next
            call writes to.
        """
        if not bitmaps:
            return []
        if len(bitmaps) > len(self._outgoing):
            self._outgoing = self._rows(len(bitmaps))
            self._lengths = self._device.xp.zeros(len(bitmaps), dtype=np.uint32)
        for batch in self._batches(len(bitmaps)):
            results = self._outgoing[batch], self._lengths[batch]
            self._launch(self._encode, bitmaps[batch], (self._parts, *results))
        lengths = self._device.asnumpy(self._lengths[: len(bitmaps)]).tolist()
        return _in_rows(self._outgoing, bitmaps, lengths)

    def landing(self, bitmaps: Sequence[Any], lengths: Sequence[int]) -> list[Any]:
        """Return arrays for messages of these lengths, which `decode` makes the bitmaps of.

        A message as long as its bitmap is to come into the bitmap itself.
        """
        if len(bitmaps) > len(self._incoming):
            self._incoming = self._rows(len(bitmaps))
        return _in_rows(self._incoming, bitmaps, lengths)

    def decode(self, messages: Sequence[Any], bitmaps: Sequence[Any]) -> None:
        """Write the bitmaps of messages that have come to their `landing`."""
        compressed = [
            (message, words)
            for message, words in zip(messages, bitmaps, strict=True)
            if message.nbytes < words.nbytes
        ]
        for batch in self._batches(len(compressed)):
            coming, written = zip(*compressed[batch], strict=True)
            arrived = np.zeros((), dtype=MESSAGES)
            arrived["addresses"][: len(coming)] = [self._address(message) for message in coming]
            arrived["bytes"][: len(coming)] = [message.nbytes for message in coming]
            self._launch(self._decode, written, (arrived[()], self._parts))

    def _rows(self, count: int) -> Any:
        """Return memory for messages, each as long as a bitmap."""
        return self._device.xp.zeros((count, self._n_words * WORD_BYTES), dtype=np.uint8)

    def _batches(self, count: int) -> list[slice]:
        """Return the parts of so many bitmaps that a launch can take: each needs a block."""
        size = min(MOST, self._blocks)
        return [slice(begin, min(begin + size, count)) for begin in range(0, count, size)]

    def _launch(self, kernel: Kernel, bitmaps: Sequence[Any], arguments: tuple[Any, ...]) -> None:
        wanted = -(-self._n_words // (self._threads * WORDS_A_THREAD))
        grid = max(1, min(wanted, self._blocks // len(bitmaps))), len(bitmaps)
        table = np.zeros((), dtype=BITMAPS)
        table["addresses"][: len(bitmaps)] = [self._address(words) for words in bitmaps]
        kernel(grid, self._threads, (np.uint32(self._n_words), table[()], *arguments))

    def _address(self, array: Any) -> int:
        return int(array.data.ptr if self._device.kind == "cuda" else array.ctypes.data)


def _in_rows(rows: Any, bitmaps: Sequence[Any], lengths: Sequence[int]) -> list[Any]:
    """Return the place of each message: in its row if it is compressed, else the bitmap's own bytes."""
    return [
        rows[k, :length] if length < words.nbytes else words.view(np.uint8)
        for k, (words, length) in enumerate(zip(bitmaps, lengths, strict=True))
    ]


def exchange_bitmaps(
    ranks: Ranks,
    sends: Sequence[Message],
    receives: Sequence[Message],
    *,
    compressed: Compression | None,
) -> None:
    """Exchange bitmaps; as :meth:`Ranks.exchange`, with messages as short as they can be if `compressed`."""
    if compressed is None:
        ranks.exchange(sends, receives)
        return
    # A bitmap that goes to several ranks is compressed once.
    leaving = {id(words): words for peer, words in sends if peer != ranks.rank}
    messages = dict(zip(leaving, compressed.encode([*leaving.values()]), strict=True))
    outgoing = [(peer, words if peer == ranks.rank else messages[id(words)]) for peer, words in sends]
    lengths = ranks.exchange_lengths(outgoing, [peer for peer, _ in receives])
    coming = [
        (peer, words, length)
        for (peer, words), length in zip(receives, lengths, strict=True)
        if peer != ranks.rank
    ]
    bitmaps = [words for _, words, _ in coming]
    arrived = compressed.landing(bitmaps, [length for _, _, length in coming])
    own = [(peer, words) for peer, words in receives if peer == ranks.rank]
    ranks.exchange(outgoing, [*own, *zip((peer for peer, _, _ in coming), arrived, strict=True)])
    saved = sum(words.nbytes for _, words in sends) - sum(message.nbytes for _, message in outgoing)
    ranks.traffic.plain_bytes += saved
    compressed.decode(arrived, bitmaps)
