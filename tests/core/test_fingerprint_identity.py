"""Caches are not in the hash, so that a machine with more known facts is still the same machine."""

import pytest

from harness.core.fingerprint_identity import cache_texts, fingerprint_differences, hashed_facts
from harness.store import json_file
from harness.store.stored_run import fingerprint_id

SILENT = {"cpu": "EPYC", "threads": 2, "versions": {"jax": "1"}}


def with_caches(l2=1 << 20, **facts):
    return {
        **SILENT,
        "caches": {"L2": {"bytes": l2, "cpus": 1}, "L3": {"bytes": 32 << 20, "cpus": 8}},
        **facts,
    }


def test_caches_do_not_change_the_fingerprint():
    assert fingerprint_id(with_caches()) == fingerprint_id(SILENT) == json_file.digest(SILENT)
    assert hashed_facts(with_caches()) == SILENT
    assert fingerprint_id(with_caches(threads=1)) != fingerprint_id(SILENT)


def test_different_cache_sizes_differ_and_unknown_ones_do_not():
    assert list(fingerprint_differences(with_caches(), with_caches(l2=2 << 20))) == [("L2", "1 MiB", "2 MiB")]
    assert (
        list(fingerprint_differences(SILENT, with_caches()))
        == list(fingerprint_differences(with_caches(), SILENT))
        == []
    )
    assert list(fingerprint_differences(SILENT, with_caches(threads=1))) == [("threads", 2, 1)]


def test_a_cache_that_more_cores_share_is_another():
    shared = {**SILENT, "caches": {"L3": {"bytes": 32 << 20, "cpus": 16}}}
    assert list(fingerprint_differences(with_caches(), shared)) == [
        ("L3", "32 MiB shared by 8", "32 MiB shared by 16")
    ]


@pytest.mark.parametrize("caches", [None, {"unavailable": "no sysfs"}, {"GPU L2": {"unavailable": "x"}}])
def test_unavailable_size_is_not_a_number(caches):
    assert cache_texts({"caches": caches}) == {}
