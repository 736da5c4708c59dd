"""Errors that a user can mend: reported in one line, without a traceback."""


class UserError(Exception):
    """Bad input: the message says in one line what is wrong, where, and what would be right."""
