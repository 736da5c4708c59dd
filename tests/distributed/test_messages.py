"""Messages of bitmaps equal those of a slow encoder, are no longer than the bitmaps, and decode to them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from relaxometer.device import Device, get_device
from relaxometer.distributed.messages import MAX_BITMAPS, Compression

SIZES = (1, 31, 32, 33, 200, 1000, 5000)
"""Words; on the host a block has 64 threads with 4 words each, and a warp takes rounds of 32."""

DENSITIES = (0, 1e-4, 1e-3, 0.01, 0.1, 0.12, 0.125, 0.13, 0.5, 1)


@pytest.fixture(scope="module")
def compressions(device: Device) -> dict[int, Compression]:
    """A compression for each size."""
    return {n_words: Compression(device, n_words) for n_words in SIZES}


def bitmap_of(bits: Any, n_words: int) -> np.ndarray:
    words = np.zeros(n_words, dtype=np.uint32)
    for bit in bits:
        words[bit // 32] |= np.uint32(1 << bit % 32)
    return words


def random_bitmap(seed: int, density: float, n_words: int) -> np.ndarray:
    bits = np.random.default_rng(seed).random(32 * n_words) < density
    return np.packbits(bits, bitorder="little").view(np.uint32)


def slowly_encoded(words: np.ndarray) -> bytes:
    message, last = bytearray(), -1
    for bit in np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist():
        gap, last = bit - last - 1, bit
        while gap >= 128:
            message.append(gap % 128 + 128)
            gap //= 128
        message.append(gap)
    return bytes(message) if len(message) < words.nbytes else words.tobytes()


def sent(device: Device, compression: Compression, bitmaps: list[np.ndarray]) -> list[bytes]:
    """Send bitmaps as ranks do; return the messages."""
    messages = compression.encode([device.asarray(words) for words in bitmaps])
    landed = [device.xp.full(len(words), 7, dtype=np.uint32) for words in bitmaps]
    arrived = compression.landing(landed, [len(message) for message in messages])
    for message, into in zip(messages, arrived, strict=True):
        into[...] = message
    compression.decode(arrived, landed)
    for words, copy in zip(bitmaps, landed, strict=True):
        np.testing.assert_array_equal(device.asnumpy(copy), words)
    return [device.asnumpy(message).tobytes() for message in messages]


def check(device: Device, compression: Compression, bitmaps: list[np.ndarray]) -> None:
    for words, message in zip(bitmaps, sent(device, compression, bitmaps), strict=True):
        assert message == slowly_encoded(words)
        assert len(message) <= words.nbytes


@st.composite
def bitmaps_of_a_size(draw: st.DrawFn) -> list[np.ndarray]:
    n_words = draw(st.sampled_from(SIZES))
    few = st.lists(st.integers(0, 32 * n_words - 1), max_size=20).map(lambda bits: bitmap_of(bits, n_words))
    many = st.builds(random_bitmap, st.integers(0, 9), st.sampled_from(DENSITIES), st.just(n_words))
    return draw(st.lists(few | many, min_size=1, max_size=4))


@given(bitmaps_of_a_size())
@example([np.zeros(1000, dtype=np.uint32)])
@example([np.full(1000, 2**32 - 1, dtype=np.uint32)])
def test_messages_equal_those_of_a_slow_encoder(device, compressions, bitmaps):
    check(device, compressions[len(bitmaps[0])], bitmaps)


@pytest.mark.parametrize("n_words", SIZES)
def test_single_bits_at_borders_arrive(device, compressions, n_words):
    borders = {0, 31, 32 * 31 + 31, 32 * 32, 32 * 64, 32 * 128 - 1, 32 * 640, 32 * n_words - 1}
    check(device, compressions[n_words], [bitmap_of([bit], n_words) for bit in borders if bit < 32 * n_words])


def test_a_message_is_compressed_only_if_shorter(device, compressions):
    """A gap takes one byte and a word four, so 799 gaps are shorter than 200 words and 800 are not."""
    bitmaps = [bitmap_of(range(0, 4 * n_bits, 4), 200) for n_bits in (799, 800, 801)]
    assert [len(message) for message in sent(device, compressions[200], bitmaps)] == [799, 800, 800]
    check(device, compressions[200], bitmaps)


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_gaps_that_need_another_byte_arrive(device, digits):
    gap = 1 << 7 * digits
    n_words = gap // 32 + 64
    bitmaps = [bitmap_of([7, 7 + gap, 9 + gap], n_words), bitmap_of([7, 8 + gap, 10 + gap], n_words)]
    messages = sent(device, Compression(device, n_words), bitmaps)
    assert messages == [slowly_encoded(words) for words in bitmaps]
    assert [len(message) for message in messages] == [2 + digits, 3 + digits]


def test_more_bitmaps_than_a_launch_takes_arrive(device, compressions):
    bitmaps = [random_bitmap(k, DENSITIES[k % 7], 31) for k in range(2 * MAX_BITMAPS + 3)]
    check(device, compressions[31], bitmaps)
    check(device, compressions[31], [])


def test_blocks_may_start_in_any_order():
    device = get_device("host", order_seed=5)
    check(device, Compression(device, 5000), [random_bitmap(k, DENSITIES[k], 5000) for k in range(7)])
