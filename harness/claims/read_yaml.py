"""A family's claims.yaml as data; whatever it names must exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.catalog import accelerators
from harness.catalog.catalog import Catalog, FamilyInfo
from harness.claims.functions import COLUMNS, called_in
from harness.claims.model import ANY, NOT_CHECKABLE, VERDICTS, Citation, Claim, Figure, Source, Table
from harness.claims.needs import needs
from harness.claims.read_figures import figures_of, table_of, text_of
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
)
_LINES = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


@dataclass(frozen=True)
class _File:
    """What the claims of a file refer to."""

    family: FamilyInfo
    sources: Mapping[str, Source]
    tables: Mapping[str, Table]


def claims_of(family: FamilyInfo, catalog: Catalog) -> tuple[Claim, ...]:
    """The claims that lie beside a family's own file, in the order written; none without a file.

    UsageError: `claims.yaml:LINE: …` for anything unknown, twice there, missing or not to be understood.
    """
    path = Path(family.file).with_name(FILE)
    return load(path, family, catalog) if path.is_file() else ()


def load(path: Path, family: FamilyInfo, catalog: Catalog) -> tuple[Claim, ...]:
    root = yaml_nodes.table(read(path), path.name)
    root.refuse_unknown(SECTIONS, "at the top level")
    if "claims" not in root.entries:
        raise UsageError(f"{root.where}: the file has no claims")
    sources = {name: _source(name, entry) for name, entry in _section(root, "sources").items()}
    tables = {name: _table(name, entry, sources) for name, entry in _section(root, "tables").items()}
    file = _File(family, sources, tables)
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
    written = yaml_nodes.table(entry.node, f"table {name}")
    return table_of(name, written, _citations(written, sources, "a table"))


def _citations(
    keys: yaml_nodes.YamlMapping, sources: Mapping[str, Source], what: str
) -> tuple[Citation, ...]:
    """`id` or `id:lines`, once or in a list."""
    if "source" not in keys.entries:
        raise UsageError(f"{keys.where}: {what} needs source")
    node = keys.entries["source"].node
    cited = [scalar(item, "source") for item in (node.items if isinstance(node, Listing) else (node,))]
    return tuple(_citation(raw, sources) for raw in cited)


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
    shape, given = _shape(keys, file.family)
    claim = Claim(
        family=file.family.name,
        id=text_of(keys, "id"),
        where=keys.where,
        says=text_of(keys, "says"),
        sources=_citations(keys, file.sources, "a claim"),
        hardware=text_of(keys, "hardware"),
        expect=text_of(keys, "expect"),
        shape=shape,
        given=given,
        figures=figures_of(keys),
        table=_named_table(keys, file.tables),
        targets=_targets(keys),
        because=text_of(keys, "because", ""),
        needs=text_of(keys, "needs", ""),
        not_checkable=text_of(keys, "not_checkable", ""),
        headline=text_of(keys, "headline", ""),
        context=context,
    )
    _refuse_contradictions(claim, keys)
    return claim


def _refuse_contradictions(claim: Claim, keys: yaml_nodes.YamlMapping) -> None:
    """UsageError for keys that contradict each other."""
    if claim.expect not in VERDICTS:
        where = keys.entries["expect"].where
        raise UsageError(f'{where}: unknown verdict "{claim.expect}"{nearest(claim.expect, VERDICTS)}')
    own = [citation.source for citation in claim.sources if citation.source.of]
    if claim.context and own:
        raise UsageError(f"{claim.where}: {claim.id} is of {own[0].of}, so it stands under claims")
    if not claim.context and len(own) < len(claim.sources):
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
    itself = [figure for figure in claim.figures if _of_the_document(figure)]
    documents = list(dict.fromkeys(source.of or source.title for source in _sources(claim)))
    if itself and len(documents) > 1:
        raise UsageError(
            f"{itself[0].where}: figure {itself[0].name}: what is held to each other is of one document, "
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


def _of_the_document(figure: Figure) -> bool:
    """Whether it holds a document's numbers to each other, so that they have to be one document's."""
    if figure.found is not None:
        return bool(figure.published and figure.follows)
    arithmetic = all(called_in(expression) <= set(COLUMNS) for expression in figure.expressions())
    return figure.compared or (figure.bounded and arithmetic)


def _contradicts_by_hand(figure: Figure) -> bool:
    """Whether what was published is held to a number that was neither counted, compiled nor run."""
    own = figure.found
    return bool(figure.published) and own is not None and not (own.functions() or own.names())


def _sources(claim: Claim) -> list[Source]:
    cited = (*claim.sources, *(claim.table.sources if claim.table else ()))
    return [citation.source for citation in cited]


def _targets(keys: yaml_nodes.YamlMapping) -> tuple[str, ...]:
    """What the published hardware may have been, one target or several."""
    if "target" not in keys.entries:
        return ()
    node = keys.entries["target"].node
    named = [scalar(item, "target") for item in (node.items if isinstance(node, Listing) else (node,))]
    for raw in named:
        with at(raw.where):
            accelerators.target(raw.text)
    return tuple(raw.text for raw in named)


def _named_table(keys: yaml_nodes.YamlMapping, tables: Mapping[str, Table]) -> Table | None:
    if "table" not in keys.entries:
        return None
    raw = scalar(keys.entries["table"].node, "table")
    if raw.text not in tables:
        raise UsageError(f'{raw.where}: unknown table "{raw.text}"{nearest(raw.text, tables)}')
    return tables[raw.text]


def _shape(keys: yaml_nodes.YamlMapping, family: FamilyInfo) -> tuple[dict[str, Value], tuple[str, ...]]:
    """The family's workload, with the claim's values over its defaults, and the fields that it writes."""
    shape = {field.name: field.default for field in family.fields if not field.required}
    if "shape" not in keys.entries:
        return shape, ()
    written = yaml_nodes.table(keys.entries["shape"].node, "shape")
    for name, entry in written.entries.items():
        with at(entry.where):
            field = family.field(name)
        shape[name] = parse(field, scalar(entry.node, name))
    return shape, tuple(written.entries)
