"""Messages of bitmaps: the bitmap itself or the gaps between its set bits, whichever is shorter.

A compressed message holds, for each set bit, the number of zeros since the last one, in groups of seven bits,
lowest first; the eighth bit of a byte says that more follow. A message shorter than the bitmap is compressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device
from relaxometer.device.kernels import Kernel
from relaxometer.device.signature import read_source
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.transport import Message

SOURCE = read_source(Path(__file__).with_name("messages.cu"))

MAX_BITMAPS = SOURCE.constants["MAX_BITMAPS"]  # bitmaps per launch
BLOCK = {"cuda": 1024, "host": 64}  # threads per block: as in the launch bounds, or fewer for the emulation
WORDS_PER_THREAD = 4  # words of a bitmap per thread at which another block pays for its part in the barrier

PART_WORDS = SOURCE.layout("Run").dtype.itemsize // 4
"""Words that a block publishes to the others of its bitmap."""

BITMAPS, MESSAGES = SOURCE.layout("Bitmaps").dtype, SOURCE.layout("Messages").dtype


class Compression:
    """Encodes bitmaps of `n_words`, fewer than 2**27, and decodes messages, whose memory it holds."""

    def __init__(self, device: Device, n_words: int) -> None:
        self._device, self._n_words = device, n_words
        module = device.module(SOURCE.path, cooperative=True)
        self._encode, self._decode = module.get_function("encode"), module.get_function("decode")
        self._threads = BLOCK[device.kind]
        self._blocks = min(
            device.max_cooperative_blocks(kernel, self._threads) for kernel in (self._encode, self._decode)
        )
        self._parts = device.xp.zeros(PART_WORDS * self._blocks, dtype=np.uint32)
        self._lengths = device.xp.zeros(0, dtype=np.uint32)
        self._outgoing = self._incoming = self._rows(0)

    def encode(self, bitmaps: Sequence[Any]) -> list[Any]:
        """Return the shorter message of each bitmap: its own bytes, or one that the next call overwrites."""
        if not bitmaps:
            return []
        if len(bitmaps) > len(self._outgoing):
            self._lengths = self._device.xp.zeros(len(bitmaps), dtype=np.uint32)
            self._outgoing = self._rows(len(bitmaps))
        for batch in self._batches(len(bitmaps)):
            results = self._outgoing[batch], self._lengths[batch]
            self._launch(self._encode, bitmaps[batch], (self._parts, *results))
        lengths = self._device.asnumpy(self._lengths[: len(bitmaps)]).tolist()
        return _in_rows(self._outgoing, bitmaps, lengths)

    def landing(self, bitmaps: Sequence[Any], lengths: Sequence[int]) -> list[Any]:
        """Return arrays for messages of these lengths: the bitmap itself for an uncompressed one."""
        if len(bitmaps) > len(self._incoming):
            self._incoming = self._rows(len(bitmaps))
        return _in_rows(self._incoming, bitmaps, lengths)

    def decode(self, messages: Sequence[Any], bitmaps: Sequence[Any]) -> None:
        """Write the bitmaps of messages received in `landing`."""
        compressed = [
            (message, words)
            for message, words in zip(messages, bitmaps, strict=True)
            if message.nbytes < words.nbytes
        ]
        for batch in self._batches(len(compressed)):
            coming, written = zip(*compressed[batch], strict=True)
            arrived = np.zeros((), dtype=MESSAGES)
            arrived["addresses"][: len(coming)] = [address_of(self._device, one) for one in coming]
            arrived["bytes"][: len(coming)] = [message.nbytes for message in coming]
            self._launch(self._decode, written, (arrived[()], self._parts))

    def _rows(self, count: int) -> Any:
        return self._device.xp.zeros((count, self._n_words * 4), dtype=np.uint8)

    def _batches(self, count: int) -> list[slice]:
        """Divide bitmaps into batches for a launch; each needs a block."""
        size = min(MAX_BITMAPS, self._blocks)
        return [slice(begin, min(begin + size, count)) for begin in range(0, count, size)]

    def _launch(self, kernel: Kernel, bitmaps: Sequence[Any], arguments: tuple[Any, ...]) -> None:
        wanted = -(-self._n_words // (self._threads * WORDS_PER_THREAD))
        grid = max(1, min(wanted, self._blocks // len(bitmaps))), len(bitmaps)
        table = np.zeros((), dtype=BITMAPS)
        table["addresses"][: len(bitmaps)] = [address_of(self._device, one) for one in bitmaps]
        kernel(grid, self._threads, (np.uint32(self._n_words), table[()], *arguments))


def address_of(device: Device, array: Any) -> int:
    """Return the address of an array of a device."""
    return int(array.data.ptr if device.kind == "cuda" else array.ctypes.data)


def _in_rows(rows: Any, bitmaps: Sequence[Any], lengths: Sequence[int]) -> list[Any]:
    """Return the memory of each message: its row if it is compressed, else the bitmap."""
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
    counts: Any | None = None,
) -> None:
    """Exchange bitmaps as :meth:`Ranks.exchange` does, with shorter messages if `compressed` is given."""
    if compressed is None:
        ranks.exchange(sends, receives, counts=counts)
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
    incoming = [*own, *zip((peer for peer, _, _ in coming), arrived, strict=True)]
    ranks.exchange(outgoing, incoming, counts=counts)
    saved = sum(words.nbytes for _, words in sends) - sum(message.nbytes for _, message in outgoing)
    ranks.traffic.plain_bytes += saved
    compressed.decode(arrived, bitmaps)
