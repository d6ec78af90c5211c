"""Calls that must raise do so before anything is read or charged, and nothing but the sampler draws."""

from __future__ import annotations

from refusals import check_refusals
from source_text import check_source


def test_what_is_wrong_is_refused_before_records_are_read():
    found = check_refusals()
    assert (found.defects, found.detail) == ((), "103 calls, none read or charged")


def test_releases_are_made_by_the_sampler_alone():
    found = check_source()
    assert found.defects == (), found.detail
    assert found.result == "ok"
