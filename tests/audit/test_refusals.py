"""What is refused is so before anything is read or charged; what is kept stays what it was; the sampler alone draws."""

from __future__ import annotations

import pytest
from checks.kept import check_kept
from checks.roundings import check_integer_noise
from refusals import check_refusals
from source_text import check_source

from pypgm.audit.subjects import SPELLED


def test_what_is_wrong_is_refused_before_records_are_read():
    found = check_refusals()
    assert (found.defects, found.detail) == ((), "103 calls, none read or charged")


@pytest.mark.parametrize("check", [check_source, check_integer_noise])
def test_releases_are_made_by_the_sampler_alone(check):
    found = check()
    assert (found.result, found.defects) == ("ok", ()), found.detail


@pytest.mark.slow
@pytest.mark.parametrize("name", SPELLED)
def test_a_release_that_is_kept_stays_what_it_was(name):
    found = check_kept(name, SPELLED[name])
    assert (found.result, found.defects) == ("ok", ()), found.detail
