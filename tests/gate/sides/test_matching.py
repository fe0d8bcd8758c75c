"""A case's counterpart at the base, and cases with the same code."""

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


def side(
    name="base",
    fields=FIELDS,
    options=OPTIONS,
    modes=("fwd", "bwd"),
    names=("exact", "staged"),
    where="/r/topk",
    named=None,
    **more,
):
    """A side with one family; `where` is its folder, `named` the NAME of `impl:NAME`."""
    family = FamilyInfo("topk", "?", tuple(fields), ("exact",), modes, f"{where}/family.py")
    found = {}
    for each in names:
        own, file = tuple(options) if each == "staged" else (), f"{where}/{each}.py"
        found[f"topk/{each}"] = ImplementationInfo(
            f"topk/{each}", "numpy", "exact", own, "", None, f"impls.topk.{each}", file, 1, ""
        )
    return Side(name, "git:3d602ab (HEAD~1)", Catalog({"topk": family}, found), implementation=named, **more)


def case(name="staged", options=None, mode="fwd", **workload):
    options = {"buckets": 64} if options is None and name == "staged" else options or {}
    return Case.of(f"topk/{name}", options, {"seq": 8, "rows": 1, "dtype": "f32", **workload}, mode)


BASE_NAME = "git:3d602ab (HEAD~1)"
ELSEWHERE = {"/elsewhere": "/scratch/0-elsewhere"}
TILE, KEEP = number("tile", 128), number("keep", 2)
LATER = number("tile", 128, later=True)
KEPT = {"buckets": 64, "keep": 2}
CHANGED = {"fields": [number("seq"), number("rows", 2), DTYPE], "options": [number("buckets", 32)]}
INSTALLED = {"where": str(PROJECT / "impls/topk")}


def with_tile(*tiles):
    return {"fields": [*FIELDS, *tiles]}


def instead(field):
    """The known fields, with this one instead of the one with its name."""
    return {"fields": [field if known.name == field.name else known for known in FIELDS]}


def with_options(*options):
    return {"options": [*OPTIONS, *options]}


@pytest.mark.parametrize(
    ("mine", "theirs", "ours", "expected"),
    [
        (case(), {"names": ["exact"]}, {}, f"topk/staged is not registered in the base, {BASE_NAME}"),
        (case(mode="bwd"), {"modes": ("fwd",)}, {}, f"the base, {BASE_NAME}, does not have mode bwd"),
        # without a worktree it has no earlier version, except what is installed with the harness
        (
            *(case(), {"trees": ELSEWHERE}, {}),
            "/r/topk/staged.py is in no git repository, so it has no earlier version; commit it to one",
        ),
        (case(), {"trees": {"/elsewhere": "/r"}}, {}, case()),
        (case(), {"trees": ELSEWHERE, **INSTALLED}, {}, case()),
        # a field that only one side has must be at its default
        (case(mode="bwd", tile=128), {}, with_tile(TILE), case(mode="bwd")),
        (case(tile=64), {}, with_tile(TILE), "the base does not have field tile=64"),
        (case(tile=64), {}, with_tile(number("tile")), "the base does not have field tile=64"),
        (case(), with_tile(TILE), {}, case(tile=128)),
        (
            *(case(), with_tile(number("tile")), {}),
            "the base requires field tile, which the candidate does not have",
        ),
        # a value that no id shows is the candidate's; else each side would use its default
        (case(), with_tile(LATER), with_tile(LATER), case()),
        (case(), with_tile(number("tile", 64, later=True)), with_tile(LATER), case(tile=128)),
        (case(), with_tile(TILE), with_tile(LATER), case(tile=128)),
        (case(), with_tile(number("tile")), with_tile(LATER), case(tile=128)),
        (case(), CHANGED, {}, case()),
        # by its id in the base's schedule; else it would be vanished and a counterpart
        (case(), {**with_tile(LATER), **with_options(KEEP)}, {}, case(options=KEPT)),
        (
            *(case(dtype="bf16"), instead(replace(DTYPE, choices=("f32",))), {}),
            "the base does not accept field dtype=bf16",
        ),
        (*(case(rows=2), instead(number("rows", 4, minimum=4)), {}), "the base does not accept field rows=2"),
        (*(case(rows=None), instead(number("rows", 4)), {}), "the base does not accept field rows=none"),
        (case(options=KEPT), {}, with_options(KEEP), case()),
        (
            *(case(options={"buckets": 64, "keep": 3}), {}, with_options(KEEP)),
            "the base does not have option keep=3",
        ),
        (
            *(case(), with_options(number("keep")), {}),
            "the base requires option keep, which the candidate does not have",
        ),
        # one implementation is compared with the others, but not with itself
        (case("exact", rows=4, mode="bwd"), {"named": "staged"}, {}, case(rows=4, mode="bwd")),
        (case(), {"named": "staged"}, {}, None),
        (case(options={"buckets": 32}), {"named": "staged"}, {}, case()),
        (case(), {"named": "topk/staged[buckets=32]"}, {}, case(options={"buckets": 32})),
        (case(), {"named": "dense"}, {}, None),
    ],
)
def test_the_counterpart_or_why_there_is_none(mine, theirs, ours, expected):
    assert counterpart(mine, side("candidate", **ours), side(**theirs)) == expected


def test_a_counterpart_by_name():
    catalog = side().catalog
    for family, label in (("topk", "mask/exact"), ("mask", "topk/exact")):
        assert counterpart_by_name(catalog, family, label) is None
    with pytest.raises(UsageError, match="needs a value for its option buckets"):
        counterpart_by_name(side(options=[number("buckets")]).catalog, "topk", "staged")


INFO = side().catalog.implementations["topk/exact"]


def test_the_folder_that_a_module_must_be_loaded_from(tmp_path):
    """The folder of a plugin by path, else the worktree, or the import root."""
    root = tmp_path / "work"
    file = root / "impls" / "topk" / "exact.py"
    file.parent.mkdir(parents=True)
    (file.parent / "__init__.py").touch()
    file.touch()
    (tmp_path / "link.py").symlink_to(file)
    in_tree = Side("base", "git:1", Catalog(), trees={"/r": "/elsewhere", "/s": str(root)})
    here = Side("candidate", ".", Catalog())
    for where, module, folder in (
        (in_tree, INFO.module, root),
        (in_tree, str(file), root),
        (here, INFO.module, root),
        (here, "impls.topk", root),
        (here, "reexports", None),
        (here, str(tmp_path / "link.py"), file.parent),
    ):
        found = where.within(replace(INFO, module=module, file=str(file)))
        assert found == (folder and str(folder))


ADDS, DOUBLES = (Case.of(f"points/{name}", {}, {"seq": 8}) for name in ("adds", "doubles"))
DOUBLES_FILE = "impls/points/doubles.py"


@pytest.fixture
def same_code(project, candidate, enter_base):
    """The cases with the same code after `files` are written, against the previous commit."""
    imports = "from .family import Points\nfrom ._helper import x"
    project.commit({DOUBLES_FILE: variant("doubles", home=imports)})
    project.commit({"impls/points/_helper.py": "x = 1\n", "table.json": "{}"})

    def decide(files=(), against="git:HEAD", *plugins):
        project.write(files)
        side = candidate(*plugins)
        with enter_base(against, side, *plugins) as base:
            counterparts = {case: counterpart(case, side, base.side) for case in (ADDS, DOUBLES)}
            return set(cases_of_same_code(counterparts, side, base.side))

    return decide


@pytest.mark.parametrize(
    ("files", "same"),
    [
        ({DOUBLES_FILE: variant("doubles", "Another.")}, {ADDS}),
        ({"impls/points/_helper.py": "x = 2\n"}, {ADDS}),
        ({"impls/points/family.py": FAMILY.replace("?", "What?")}, set()),
        ({"impls/points/family.py": TABLE, "impls/points/workload.py": WORKLOAD}, set()),
        (
            {"impls/points/third.py": variant("third"), "table.json": "[]", "README.md": "New."},
            {ADDS, DOUBLES},
        ),
        ({"csrc/kernel.cu": "__global__"}, set()),
    ],
)
def test_changed_code_is_measured(same_code, files, same):
    assert same_code(files) == same


def test_a_table_next_to_a_module_counts_as_its_code(project, same_code):
    imports = "from .family import Points\nfrom impls.shared.tuned import size"
    project.commit({"impls/shared/__init__.py": "", "impls/shared/tuned.py": "size = 1\n"})
    project.commit({DOUBLES_FILE: variant("doubles", home=imports), "impls/shared/sizes.json": "[1]"})
    project.commit({"impls/points/lengths.json": "[1]"})
    assert same_code() == {ADDS, DOUBLES}
    assert same_code(against="impl:adds") == set(), "only a commit can be the same code"
    assert same_code({"impls/shared/sizes.json": "[2]"}) == {ADDS}
    assert same_code({"impls/points/lengths.json": "[2]"}) == set()


def test_code_that_loads_by_name_is_measured_if_an_adjacent_module_changed(project, same_code):
    loads = "from .family import Points\nfrom importlib import import_module"
    project.commit({DOUBLES_FILE: variant("doubles", home=loads), "impls/points/hidden.py": "x = 1\n"})
    assert same_code() == {ADDS, DOUBLES}
    assert same_code({"impls/points/hidden.py": "x = 2\n"}) == {ADDS}


def test_a_plugin_in_no_repository_is_not_compared(project, candidate, enter_base, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text(plugin("own"))
    side, case = candidate(str(mine)), Case.of("points/own", {}, {"seq": 8})
    with enter_base("git:HEAD", side, str(mine), wanted=["points/adds"]) as base:
        assert not cases_of_same_code({case: None}, side, base.side)
