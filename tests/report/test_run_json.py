import json
from dataclasses import replace

from harness.core.record import Cost, Record
from harness.report.run_json import HEADER, run_data
from tests.records import kernel_of, record_of, static_of
from tests.report.charts.suites import FINGERPRINT
from tests.report.charts.suites import record as record_on_machine
from tests.rooflines import machine

LISTS = "records comparisons throughput scaling crossovers programs kernel_warnings"
OVERHEAD = {"wall_s": 2.0, "work_s": 1.5, "share": 0.25}
KEYS = {
    "comparisons": "suite case baseline speedup low high reason",
    "throughput": "suite case work unit per_second low high reason",
    "scaling": "suite implementation metric exponent low high",
    "crossovers": "suite implementation first_grid interpolated",
}
EMPTY = {
    **dict.fromkeys(HEADER),
    **{name: [] for name in [*LISTS.split(), "largest"]},
    "overhead": {},
}


def test_the_object_has_the_public_keys_and_everything_stored(info, run):
    header = {"schema": 1, "version": "0.1.0", "settings": {"seed": 0}, "fingerprints": {"sha256:1": {}}}
    data = json.loads(json.dumps(run_data({**info, **header, "overhead": OVERHEAD}, run)))
    assert list(data) == [*EMPTY]
    assert {name: data[name] for name in header} == header
    assert (data["suites"], data["overhead"]) == (info["suites"], OVERHEAD)
    assert [Record.from_json(entry) for entry in data["records"]] == run
    for name, keys in KEYS.items():
        assert all(set(keys.split()) <= set(entry) for entry in data[name])
    figures = [entry for name in ("comparisons", "scaling", "crossovers") for entry in data[name]]
    hidden = {"cause", "left_out", "baseline_outcome", "lacks_baseline"}
    assert not [entry for entry in figures if hidden & set(entry)]
    compared = data["comparisons"]
    assert len(compared) == 12, "every case but the baseline's"
    gone = [entry["reason"] for entry in compared if "seq=131072" in entry["case"]]
    assert gone == ["n/a (baseline oom)", "n/a (incorrect)", "n/a (baseline oom)"]
    assert run_data({}, []) == EMPTY


def test_every_kernel_warning_is_a_sentence():
    kernel = kernel_of(instructions={"mma": 96})
    record = record_of(
        "flash", 4096, static={"cuda:h100": replace(static_of(temp_bytes=1), kernels=(kernel,))}
    )
    (warned,) = run_data({}, [record])["kernel_warnings"]
    assert (warned["case"], warned["target"]) == (record.case, "cuda:h100")
    assert warned["warning"].startswith("attn uses no warp-group matrix instructions (HGMMA)")


def test_shares_of_roofs_on_a_processor_need_measured_ceilings():
    known = record_on_machine("scatter", 4096, 1.0, cost=Cost(5e10, None))
    assert "roofs" not in run_data({}, [known])
    (found,) = run_data({"rooflines": {FINGERPRINT: machine()}}, [known])["roofs"]
    shown = [found[name] for name in ("roof", "bound_s", "word", "ceilings", "note")]
    assert (shown, found["share"]["value"]) == (["compute", 0.5, "compute", "measured", ""], 0.5)
