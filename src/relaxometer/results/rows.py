"""What identifies a run in gathered tables, and which of its rows count."""

KEY = ["problem", "graph", "variant"]

FAILURES = {"error", "invalid"}
"""Statuses that fail the whole workflow at its end."""

NOT_TRIED = ["absent", "skipped"]
"""Statuses of searches that were not made, as of a rival that is not installed; nothing is to be proven."""

PROVEN = ["ok", "disputed"]
"""Statuses of searches whose answer is proven; the times of disputed ones are by our own clock."""
