"""Which cases need no measuring, on repositories in which one kind of file has changed."""

from dataclasses import replace

import pytest

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.core.case import Case
from harness.core.errors import UsageError
from harness.core.paths import PROJECT
from harness.core.workload import Field
from harness.gate.sides.matching import cases_of_same_code, counterpart, counterpart_by_name
from harness.gate.sides.side import Side
from tests.gate.sides.conftest import FAMILY, TABLE, WORKLOAD, plugin, variant


def number(name, default=None, **more):
    return Field(name, "int", required=default is None, default=default, **more)


DTYPE = Field("dtype", "str", required=False, default="f32", choices=("f32", "bf16"))
FIELDS = (number("seq"), number("rows", 1), DTYPE)
OPTIONS = (number("buckets", 64),)


def side(name="base", fields=FIELDS, options=OPTIONS, modes=("fwd", "bwd"), **more):
    family = FamilyInfo("topk", "?", tuple(fields), ("exact",), modes, "/r/topk/family.py")
    found = {}
    for each, own in {"exact": (), "staged": tuple(options)}.items():
        where = f"impls.topk.{each}", f"/r/topk/{each}.py"
        found[f"topk/{each}"] = ImplementationInfo(
            f"topk/{each}", "numpy", "exact", own, "", None, *where, 1, ""
        )
    return Side(name, "git:3d602ab (HEAD~1)", Catalog({"topk": family}, found), **more)


def case(name="staged", options=None, mode="fwd", **workload):
    options = {"buckets": 64} if options is None and name == "staged" else options or {}
    return Case.of(f"topk/{name}", options, {"seq": 8, "rows": 1, "dtype": "f32", **workload}, mode)


def test_what_is_not_registered_is_new():
    base = side()
    base = replace(base, catalog=Catalog(base.catalog.families, {}))
    said = "topk/staged is not registered in the base, git:3d602ab (HEAD~1)"
    assert counterpart(case(), side("candidate"), base) == said


def test_what_is_in_no_worktree_is_new():
    base = side(trees={"/elsewhere": "/scratch/0-elsewhere"})
    assert "/r/topk/staged.py is in no git repository" in counterpart(case(), side("candidate"), base)
    assert counterpart(case(), side("candidate"), side(trees={"/elsewhere": "/r"})) == case()


def test_what_is_installed_with_the_harness_is_one_file_for_both_sides():
    base = side(trees={"/elsewhere": "/scratch/0-elsewhere"})
    info = replace(base.catalog.implementations["topk/staged"], file=str(PROJECT / "impls/topk/staged.py"))
    base = replace(base, catalog=Catalog(base.catalog.families, {info.id: info}))
    assert counterpart(case(), side("candidate"), base) == case()


def test_a_mode_that_the_base_lacks():
    said = counterpart(case(mode="bwd"), side("candidate"), side(modes=("fwd",)))
    assert said == "mode bwd is unknown to the base, git:3d602ab (HEAD~1)"


def test_a_field_of_the_candidate_alone_is_left_out_at_its_default_and_new_otherwise():
    mine = side("candidate", [*FIELDS, number("tile", 128)])
    assert counterpart(case(mode="bwd", tile=128), mine, side()) == case(mode="bwd")
    for tile in (number("tile", 128), number("tile")):
        said = counterpart(case(tile=64), side("candidate", [*FIELDS, tile]), side())
        assert said == "field tile=64 is unknown to the base"


def test_a_field_of_the_base_alone_stays_at_its_default():
    wider = side(fields=[*FIELDS, number("tile", 128)])
    assert counterpart(case(), side("candidate"), wider) == case(tile=128)
    said = counterpart(case(), side("candidate"), side(fields=[*FIELDS, number("tile")]))
    assert said == "the base needs a value for its field tile, which the candidate does not know"


@pytest.mark.parametrize(
    ("mine", "theirs", "shown"),
    [
        (number("tile", 128, later=True), number("tile", 128, later=True), {}),
        (number("tile", 128, later=True), number("tile", 64, later=True), {"tile": 128}),
        (number("tile", 128, later=True), number("tile", 128), {"tile": 128}),
        (number("tile", 128, later=True), number("tile"), {"tile": 128}),
    ],
)
def test_a_value_that_no_id_shows_is_the_candidates(mine, theirs, shown):
    """Else both sides would fill it in, each with its own default."""
    candidate, base = side("candidate", [*FIELDS, mine]), side(fields=[*FIELDS, theirs])
    assert counterpart(case(), candidate, base) == case(**shown)


def test_a_default_that_changed_changes_nothing():
    base = side(fields=[number("seq"), number("rows", 2), DTYPE], options=[number("buckets", 32)])
    assert counterpart(case(), side("candidate"), base) == case()


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"dtype": "bf16"}, replace(DTYPE, choices=("f32",)), "field dtype=bf16"),
        ({"rows": 2}, number("rows", 4, minimum=4), "field rows=2"),
        ({"rows": 2}, Field("rows", "str", required=True), "field rows=2"),
        ({"rows": None}, number("rows", 4), "field rows=none"),
    ],
)
def test_a_value_that_the_base_does_not_take(given, field, said):
    theirs = [field if known.name == field.name else known for known in FIELDS]
    found = counterpart(case(**given), side("candidate"), side(fields=theirs))
    assert found == f"{said} is no value that the base takes"


def test_what_the_candidate_dropped_is_still_the_bases_case():
    """By the id that the base's own schedule gives it: else it is vanished and an opponent, too."""
    base = side(fields=[*FIELDS, number("tile", 128, later=True)], options=[*OPTIONS, number("keep", 2)])
    assert counterpart(case(), side("candidate"), base) == case(options={"buckets": 64, "keep": 2})


def test_options_go_by_the_same_rules():
    keep = number("keep", 2)
    mine, theirs = side("candidate", options=[*OPTIONS, keep]), side(options=[*OPTIONS, keep])
    both = case(options={"buckets": 64, "keep": 2})
    assert counterpart(both, mine, side()) == case()
    said = counterpart(case(options={"buckets": 64, "keep": 3}), mine, side())
    assert said == "option keep=3 is unknown to the base"
    assert counterpart(case(), side("candidate"), theirs) == both
    said = counterpart(case(), side("candidate"), side(options=[*OPTIONS, number("keep")]))
    assert said == "the base needs a value for its option keep, which the candidate does not know"


def test_one_implementation_is_set_against_the_others_but_not_itself():
    base = side(implementation="staged")
    assert counterpart(case("exact", rows=4, mode="bwd"), side("candidate"), base) == case(rows=4, mode="bwd")
    assert counterpart(case(), side("candidate"), base) is None
    other = case(options={"buckets": 32})
    assert counterpart(other, side("candidate"), base) == case()
    assert counterpart(case(), side("candidate"), side(implementation="topk/staged[buckets=32]")) == other


def test_a_family_without_that_implementation_is_left_out():
    catalog = side().catalog
    assert counterpart_by_name(catalog, "topk", "dense") is None
    assert counterpart_by_name(catalog, "topk", "mask/exact") is None
    assert counterpart_by_name(catalog, "mask", "topk/exact") is None
    assert counterpart(case(), side("candidate"), side(implementation="dense")) is None


def test_options_without_a_default_must_be_given():
    with pytest.raises(UsageError, match="needs a value for its option buckets"):
        counterpart_by_name(side(options=[number("buckets")]).catalog, "topk", "staged")


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
