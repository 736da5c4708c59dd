"""Errors that a user can fix, reported in one line without a traceback."""


class UserError(Exception):
    """Invalid input. The one-line message says what is wrong, where, and what is expected."""
