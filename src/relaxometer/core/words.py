"""Numbers in sentences."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as "1 run" or "1,200 runs"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
