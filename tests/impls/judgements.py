"""What a contract or a check has to say of an answer, with its own reason where it says otherwise."""


def assert_passed(judgement):
    """The judgement, for its figures."""
    assert judgement.passed, judgement.reason
    return judgement


def assert_failed(judgement, says=""):
    """The judgement; `says` is a part of its reason."""
    assert not judgement.passed, "it passed"
    assert says in judgement.reason
    return judgement
