"""Reading a family's claims.yaml; everything that it names must exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.catalog import accelerators
from harness.catalog.catalog import Catalog, FamilyInfo
from harness.claims.functions import COLUMNS, SPEEDUP, functions_in
from harness.claims.model import ANY, NOT_CHECKABLE, VERDICTS, Citation, Claim, Figure, Source, Table
from harness.claims.needs import needs
from harness.claims.read_figures import CURVES, figures_of, table_of, text_of
from harness.core.errors import UsageError, nearest
from harness.core.workload import Value
from harness.sweep.axes import parse
from harness.sweep.yaml import nodes as yaml_nodes
from harness.sweep.yaml.nodes import Entry, Listing, Node, Scalar, at, items, scalar
from harness.sweep.yaml.reader import read

FILE = "claims.yaml"
SECTIONS = ("sources", "tables", "claims", "context")
SOURCE_KEYS = ("title", "of", "version", "url", "kept")
CLAIM_KEYS = (
    "id",
    "says",
    "source",
    "hardware",
    "target",
    "shape",
    "table",
    "figures",
    "because",
    "needs",
    "not_checkable",
    "headline",
    "expect",
    "reproductions",
)
_LINES = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


@dataclass(frozen=True)
class _File:
    """The family, sources and tables that the claims of a file refer to."""

    family: FamilyInfo
    sources: Mapping[str, Source]
    tables: Mapping[str, Table]


def claims_of(family: FamilyInfo, catalog: Catalog) -> tuple[Claim, ...]:
    """The claims of the claims.yaml beside a family's module, in its order; empty without that file.

    UsageError: `claims.yaml:LINE: …` for anything unknown, duplicate, missing or malformed.
    """
    path = Path(family.file).with_name(FILE)
    return load(path, family, catalog) if path.is_file() else ()


def tables_of(family: FamilyInfo) -> tuple[tuple[Table, Entry | None], ...]:
    """The published tables of a family's claims.yaml, each with what it says under `curves`."""
    path = Path(family.file).with_name(FILE)
    if not path.is_file():
        return ()
    root = yaml_nodes.table(read(path), path.name)
    entries = {
        name: yaml_nodes.table(e.node, f"table {name}") for name, e in _section(root, "tables").items()
    }
    tables = _tables(root, _sources_in(root))
    return tuple((table, entries[name].entries.get(CURVES)) for name, table in tables.items())


def _sources_in(root: yaml_nodes.YamlMapping) -> dict[str, Source]:
    return {name: _source(name, entry) for name, entry in _section(root, "sources").items()}


def _tables(root: yaml_nodes.YamlMapping, sources: Mapping[str, Source]) -> dict[str, Table]:
    return {name: _table(name, entry, sources) for name, entry in _section(root, "tables").items()}


def load(path: Path, family: FamilyInfo, catalog: Catalog) -> tuple[Claim, ...]:
    root = yaml_nodes.table(read(path), path.name)
    root.refuse_unknown(SECTIONS, "at the top level")
    if "claims" not in root.entries:
        raise UsageError(f"{root.where}: the file has no claims")
    sources = _sources_in(root)
    file = _File(family, sources, _tables(root, sources))
    claims: dict[str, Claim] = {}
    for section in ("claims", "context"):
        if section not in root.entries:
            continue
        for node in items(root.entries[section].node, section):
            claim = _claim(node, file, context=section == "context")
            if claim.id in claims:
                raise UsageError(
                    f"{claim.where}: duplicate id {claim.id}; it stands in {claims[claim.id].where} too"
                )
            needs(claim, catalog)  # for its errors
            claims[claim.id] = claim
    return tuple(claims.values())


def _section(root: yaml_nodes.YamlMapping, name: str) -> Mapping[str, Entry]:
    return yaml_nodes.table(root.entries[name].node, name).entries if name in root.entries else {}


def _source(name: str, entry: Entry) -> Source:
    keys = yaml_nodes.table(entry.node, f"source {name}")
    keys.refuse_unknown(SOURCE_KEYS, "of a source")
    values = {key: text_of(keys, key, "") for key in SOURCE_KEYS if key != "title"}
    return Source(name, text_of(keys, "title", what="a source"), **values)


def _table(name: str, entry: Entry, sources: Mapping[str, Source]) -> Table:
    mapping = yaml_nodes.table(entry.node, f"table {name}")
    return table_of(name, mapping, _citations(mapping, sources, "a table"))


def _citations(
    keys: yaml_nodes.YamlMapping, sources: Mapping[str, Source], what: str
) -> tuple[Citation, ...]:
    """`id` or `id:lines`, once or in a list."""
    if "source" not in keys.entries:
        raise UsageError(f"{keys.where}: {what} needs source")
    node = keys.entries["source"].node
    references = [scalar(item, "source") for item in (node.items if isinstance(node, Listing) else (node,))]
    return tuple(_citation(raw, sources) for raw in references)


def _citation(raw: Scalar, sources: Mapping[str, Source]) -> Citation:
    name, _, lines = raw.text.replace(" ", "").partition(":")
    if name not in sources:
        raise UsageError(f'{raw.where}: unknown source "{name}"{nearest(name, sources)}')
    if lines and not _LINES.fullmatch(lines):
        raise UsageError(f'{raw.where}: lines are written like 46, 28-39 or 46,51; not "{lines}"')
    return Citation(sources[name], lines)


def _claim(node: Node, file: _File, *, context: bool) -> Claim:
    keys = yaml_nodes.table(node, "a claim")
    keys.refuse_unknown(CLAIM_KEYS, "of a claim")
    shape, written_fields = _shape(keys, file.family)
    claim = Claim(
        family=file.family.name,
        id=text_of(keys, "id"),
        where=keys.where,
        says=text_of(keys, "says"),
        sources=_citations(keys, file.sources, "a claim"),
        hardware=text_of(keys, "hardware"),
        expect=text_of(keys, "expect"),
        shape=shape,
        given=written_fields,
        figures=figures_of(keys),
        table=_named_table(keys, file.tables),
        targets=_targets(keys),
        context=context,
        reproductions=_reproductions(keys),
        **{key: text_of(keys, key, "") for key in ("because", "needs", "not_checkable", "headline")},
    )
    _refuse_contradictions(claim, keys)
    return claim


def _reproductions(keys: yaml_nodes.YamlMapping) -> int:
    """On how many machines a speedup has to hold; 1 where the claim does not say."""
    if "reproductions" not in keys.entries:
        return 1
    raw = scalar(keys.entries["reproductions"].node, "reproductions")
    if not raw.text.isdecimal() or not int(raw.text):
        raise UsageError(f"{raw.where}: reproductions is a number of machines, 1 or more; not {raw.text}")
    if not any(SPEEDUP in functions_in(e) for figure in figures_of(keys) for e in figure.expressions()):
        raise UsageError(f"{raw.where}: reproductions are of a {SPEEDUP}(…), which no figure asks for")
    return int(raw.text)


def _refuse_contradictions(claim: Claim, keys: yaml_nodes.YamlMapping) -> None:
    """UsageError for keys that contradict each other."""
    if claim.expect not in VERDICTS:
        where = keys.entries["expect"].where
        raise UsageError(f'{where}: unknown verdict "{claim.expect}"{nearest(claim.expect, VERDICTS)}')
    of_pull_requests = [citation.source for citation in claim.sources if citation.source.of]
    if claim.context and of_pull_requests:
        raise UsageError(
            f"{claim.where}: {claim.id} is of {of_pull_requests[0].of}, so it stands under claims"
        )
    if not claim.context and len(of_pull_requests) < len(claim.sources):
        raise UsageError(
            f"{claim.where}: {claim.id} has a source that is of no pull request (of: …); "
            "what is only context stands under context"
        )
    deciding = [figure for figure in claim.figures if figure.decides]
    if not deciding and not claim.not_checkable:
        raise UsageError(
            f"{claim.where}: {claim.id} has no figure that decides; "
            "add one with two of published, follows and found, or with a bound, or not_checkable: why"
        )
    if deciding and all(figure.premise for figure in deciding):
        raise UsageError(f"{deciding[0].where}: a premise stands beside what it is the premise of")
    if claim.expect != NOT_CHECKABLE and not deciding:
        where = keys.entries["expect"].where
        raise UsageError(f"{where}: without a figure that decides the verdict is {NOT_CHECKABLE}")
    within_document = [figure for figure in claim.figures if _compares_document_numbers(figure)]
    documents = list(dict.fromkeys(source.of or source.title for source in _sources(claim)))
    if within_document and len(documents) > 1:
        raise UsageError(
            f"{within_document[0].where}: figure {within_document[0].name}: "
            "what is held to each other is of one document, "
            f"not of {' and '.join(documents)}; what another one says is found"
        )
    for figure in claim.figures:
        if _contradicts_by_hand(figure) and claim.hardware != ANY:
            raise UsageError(
                f"{figure.where}: figure {figure.name}: a number written down says nothing against "
                f"{claim.hardware}; count, compile or run what is found, or say hardware: {ANY}"
            )
        if figure.each and claim.table is None:
            raise UsageError(f"{figure.where}: each row of what? The claim has no table")


def _compares_document_numbers(figure: Figure) -> bool:
    """Whether a figure compares a document's numbers with each other, which must be of one document."""
    if figure.found is not None:
        return bool(figure.published and figure.follows)
    arithmetic = all(functions_in(expression) <= set(COLUMNS) for expression in figure.expressions())
    return figure.compared or (figure.bounded and arithmetic)


def _contradicts_by_hand(figure: Figure) -> bool:
    """Whether a published number is compared with a literal: neither counted, compiled nor run."""
    found = figure.found
    return bool(figure.published) and found is not None and not (found.functions() or found.names())


def _sources(claim: Claim) -> list[Source]:
    cited = (*claim.sources, *(claim.table.sources if claim.table else ()))
    return [citation.source for citation in cited]


def _targets(keys: yaml_nodes.YamlMapping) -> tuple[str, ...]:
    """The targets that the published hardware may have been."""
    if "target" not in keys.entries:
        return ()
    node = keys.entries["target"].node
    names = [scalar(item, "target") for item in (node.items if isinstance(node, Listing) else (node,))]
    for raw in names:
        with at(raw.where):
            accelerators.target(raw.text)
    return tuple(raw.text for raw in names)


def _named_table(keys: yaml_nodes.YamlMapping, tables: Mapping[str, Table]) -> Table | None:
    if "table" not in keys.entries:
        return None
    raw = scalar(keys.entries["table"].node, "table")
    if raw.text not in tables:
        raise UsageError(f'{raw.where}: unknown table "{raw.text}"{nearest(raw.text, tables)}')
    return tables[raw.text]


def _shape(keys: yaml_nodes.YamlMapping, family: FamilyInfo) -> tuple[dict[str, Value], tuple[str, ...]]:
    """(the family's default workload overridden by the claim's values, the fields that the claim writes)."""
    shape = {field.name: field.default for field in family.fields if not field.required}
    if "shape" not in keys.entries:
        return shape, ()
    mapping = yaml_nodes.table(keys.entries["shape"].node, "shape")
    for name, entry in mapping.entries.items():
        with at(entry.where):
            field = family.field(name)
        shape[name] = parse(field, scalar(entry.node, name))
    return shape, tuple(mapping.entries)
