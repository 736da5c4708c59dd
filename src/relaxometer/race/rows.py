"""The row of a search, which is built once, after its answer has been proven."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRow:
    """A row of :data:`relaxometer.problems.records.RUNS`, which describes the columns; None if unknown."""

    source: int
    round: int
    repetition: int
    status: str
    reason: str
    time_ms: float | None = None
    prepare_ms: float | None = None
    cold_ms: float | None = None
    call_ms: float | None = None
    call_prepare_ms: float | None = None
    call_cold_ms: float | None = None
    upload_ms: float | None = None
    download_ms: float | None = None
    certify_ms: float | None = None
    clock_ms: float | None = None
    phases: int | None = None
    relaxed_arcs: int | None = None
    reached: int | None = None
    reached_arcs: int | None = None
    input_edges: int | None = None
    peak_bytes: int | None = None
    leaked_bytes: int | None = None
    energy_j: float | None = None
    energy_low_j: float | None = None
    energy_high_j: float | None = None
    gross_j: float | None = None
    idle_w: float | None = None
    nvml_peak_bytes: int | None = None
    nvml_before_bytes: int | None = None
    kernel_bytes: int | None = None
    copy_gb_s: float | None = None
    throttled: str | None = None
    queries: str | None = None
    queries_hash: str | None = None
    answer: str | None = None
