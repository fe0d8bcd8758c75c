"""Owners of a TPU's plan and the curve of its live bytes, on schedules written by hand."""

from harness.xla.hlo import Graph
from harness.xla.owners.executable import ReportedBuffer, TemporariesReport
from harness.xla.owners.names import Names
from harness.xla.owners.reported import reported_owners

ARRAY = "f32[8,128]{1,0:T(8,128)}"  # of 4096 bytes, as all below are
BYTES = 4096


def owners(report, *lines):
    entry = "\n".join(f"  {line}" for line in lines)
    text = f"HloModule m, is_scheduled=true\n\nENTRY %main (x: f32[8,128]) -> f32[8,128] {{\n{entry}\n}}\n"
    held = sum(buffer.bytes for buffer in report)
    return reported_owners(
        TemporariesReport(held, 0, tuple(report)), Names(Graph(text), text), held + 2 * BYTES
    )


def temporaries(found):
    """(step, temporaries alive from it on, in arrays): the argument and the result are always there."""
    return [(step, alive / BYTES - 2) for step, alive in found.curve]


def test_an_asynchronous_kernel_holds_operands_result_and_contexts_until_it_is_done():
    report = [ReportedBuffer(name, (8, 128), BYTES) for name in ("before", "start")]
    report.append(ReportedBuffer("start", (1024,), BYTES))
    found = owners(
        report,
        f"%x = {ARRAY} parameter(0)",
        f"%before = {ARRAY} negate(%x)",
        f"%start = (({ARRAY}), {ARRAY}, (s32[1024]{{0:T(1024)}}, s32[25]{{0:T(1)S(11)}})) "
        'custom-call-start(%before), async_execution_thread="sparsecore", custom_call_target="kernel"',
        f"%meanwhile = {ARRAY} iota(), iota_dimension=0",
        f"%done = {ARRAY} custom-call-done(%start)",
        f"ROOT %sum = {ARRAY} add(%done, %meanwhile)",
    )
    assert temporaries(found) == [(0, 0), (1, 1), (2, 3), (3, 4), (5, 1)]
    lives = {(each.name, each.shape): (each.first, each.last) for each in found.owners if each.kind == "temp"}
    assert lives == {
        ("before", "f32[8,128]"): (1, 4),
        ("start", "f32[8,128]"): (2, 4),
        ("start", "s32[1024]"): (2, 4),
    }


def test_what_moves_elements_is_written_beside_its_operand_and_what_computes_them_over_it():
    lines = (
        f"%x = {ARRAY} parameter(0)",
        f"%before = {ARRAY} negate(%x)",
        f"%now = {ARRAY} OPCODE(%before)",
        "%after = f32[8,1]{1,0:T(8,128)} reduce(%now)",
        f"ROOT %result = {ARRAY} broadcast(%after)",
    )
    for opcode, both in (("reshape", 2), ("exponential", 1)):
        found = owners([], *(line.replace("OPCODE", opcode) for line in lines))
        assert dict(temporaries(found)).get(2, 1) == both, opcode
