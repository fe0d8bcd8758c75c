"""Which cases need no measuring, on repositories in which one kind of file has changed."""

import pytest

from harness.core.case import Case
from harness.gate.sides.matching import counterpart
from harness.gate.sides.same_code import cases_of_same_code
from tests.gate.sides.conftest import FAMILY, TABLE, WORKLOAD, plugin, variant

ADDS, DOUBLES = (Case.of(f"points/{name}", {}, {"seq": 8}) for name in ("adds", "doubles"))
DOUBLES_FILE = "impls/points/doubles.py"


@pytest.fixture
def same_code(project, candidate, enter_base):
    """The cases of the same code once `files` are written, against the commit before."""
    imports = "from .family import Points\nfrom ._helper import x"
    project.commit({DOUBLES_FILE: variant("doubles", home=imports)})
    project.commit({"impls/points/_helper.py": "x = 1\n", "table.json": "{}"})

    def decide(files=(), against="git:HEAD", *plugins):
        project.write(files)
        side = candidate(*plugins)
        with enter_base(against, side, *plugins) as base:
            opponents = {case: counterpart(case, side, base.side) for case in (ADDS, DOUBLES)}
            return set(cases_of_same_code(opponents, side, base.side))

    return decide


@pytest.mark.parametrize(
    ("files", "same"),
    [
        ({}, {ADDS, DOUBLES}),
        ({DOUBLES_FILE: variant("doubles", "Another.")}, {ADDS}),
        ({"impls/points/_helper.py": "x = 2\n"}, {ADDS}),
        ({"impls/points/family.py": FAMILY.replace("?", "What?")}, set()),
        ({"impls/points/family.py": TABLE, "impls/points/workload.py": WORKLOAD}, set()),
        ({"impls/points/third.py": variant("third")}, {ADDS, DOUBLES}),
        ({"table.json": "[]"}, {ADDS, DOUBLES}),
        ({"README.md": "New."}, {ADDS, DOUBLES}),
        ({"csrc/kernel.cu": "__global__"}, set()),
    ],
)
def test_what_has_changed_is_measured(same_code, files, same):
    assert same_code(files) == same


def test_a_table_beside_a_module_may_be_read_by_it(project, same_code):
    project.commit({"impls/points/lengths.json": "[1]"})
    assert same_code() == {ADDS, DOUBLES}
    assert same_code({"impls/points/lengths.json": "[2]"}) == set()


def test_a_table_beside_an_imported_helper_may_be_read_by_it(project, same_code):
    imports = "from .family import Points\nfrom impls.shared.tuned import size"
    project.commit({"impls/shared/__init__.py": "", "impls/shared/tuned.py": "size = 1\n"})
    project.commit({DOUBLES_FILE: variant("doubles", home=imports), "impls/shared/sizes.json": "[1]"})
    assert same_code({"impls/shared/sizes.json": "[2]"}) == {ADDS}


def test_code_that_loads_by_name_is_measured_where_a_module_beside_it_has_changed(project, same_code):
    loads = "from .family import Points\nfrom importlib import import_module"
    project.commit({DOUBLES_FILE: variant("doubles", home=loads), "impls/points/hidden.py": "x = 1\n"})
    assert same_code() == {ADDS, DOUBLES}
    assert same_code({"impls/points/hidden.py": "x = 2\n"}) == {ADDS}


def test_only_a_commit_can_be_the_same_code(same_code):
    assert same_code(against="impl:adds") == set()


def test_a_plugin_in_no_repository_takes_no_part(project, candidate, enter_base, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(plugin("own"))
    side, case = candidate(str(mine)), Case.of("points/own", {}, {"seq": 8})
    with enter_base("git:HEAD", side, str(mine), wanted=["points/adds"]) as base:
        assert not cases_of_same_code({case: None}, side, base.side)
