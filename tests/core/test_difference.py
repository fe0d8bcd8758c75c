from harness.core.difference import differences

BEFORE = {"threads": 2, "versions": {"jax": "1", "torch": "2"}, "axes": {"seq": [1, 2]}, "gone": True}


def test_what_differs_has_a_dotted_name_and_both_values():
    now = {"new": None, "axes": {"seq": [1]}, "versions": {"jax": "3", "torch": "2"}, "threads": 1, "more": 5}
    changed = [("threads", 2, 1), ("versions.jax", "1", "3"), ("axes.seq", [1, 2], [1])]
    assert list(differences(BEFORE, now)) == [*changed, ("gone", True, None), ("more", None, 5)]


def test_a_mapping_in_the_place_of_a_value_differs_as_a_whole():
    assert list(differences({"a": {"b": 1}}, {"a": 1})) == [("a", {"b": 1}, 1)]


def test_equal_ones_differ_in_nothing():
    assert list(differences(BEFORE, {**BEFORE})) == []
