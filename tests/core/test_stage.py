import pytest

from harness.core.stage import recording, stage


class Noted:
    def __init__(self, name, notes):
        self.name, self.notes = name, notes

    def __enter__(self):
        self.notes.append(f"+{self.name}")

    def __exit__(self, *_):
        self.notes.append(f"-{self.name}")


def test_a_mark_that_nobody_records_is_one_object_and_hides_no_error():
    assert stage("a") is stage("b")
    with pytest.raises(ValueError, match="its own"), stage("a"):
        raise ValueError("its own")


def test_a_recorder_sees_the_stages_of_its_block_and_no_others():
    notes = []
    with recording(lambda name: Noted(name, notes)):
        with stage("a"), stage("b"):
            pass
        with recording(lambda name: Noted(name.upper(), notes)), stage("c"):
            pass
        with stage("d"):
            pass
    with stage("e"):
        pass
    assert notes == ["+a", "+b", "-b", "-a", "+C", "-C", "+d", "-d"]
