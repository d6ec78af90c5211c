"""Whatever a test of the command makes it say on its way out: no message speaks of arguments of Python."""

from __future__ import annotations

import pytest
from spoken import python_in

from pypgm.cli import command


@pytest.fixture(autouse=True)
def said_in_words_of_the_command(monkeypatch):
    """Check each warning and error that the command prints."""
    real, said = command._print_message, []

    def printed(message):
        said.append(message)
        real(message)

    monkeypatch.setattr(command, "_print_message", printed)
    yield said
    assert [(message, found) for message in said if (found := python_in(message))] == []
