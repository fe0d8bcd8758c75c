// Sorts and filters tables, and compares their cases with a chosen implementation.
const bundle = document.getElementById("datatables").textContent;
let Table = null;
if (bundle) {
  const url = URL.createObjectURL(new Blob([bundle], { type: "text/javascript" }));
  Table = (await import(url)).default;
  URL.revokeObjectURL(url);
}

const ratioRow = (row, label) => {
  const link = row.querySelector("a[href^='#case-']");
  const details = link && document.getElementById(link.hash.slice(1));
  return details && [...details.querySelectorAll("tr[data-with]")].find((found) => found.dataset.with === label);
};

const compare = (table, sorted, label) => {
  for (const row of table.tBodies[0].rows) {
    const found = label && ratioRow(row, label);
    const cells = [...row.querySelectorAll(".comparison")];
    cells[0].textContent = found ? found.cells[1].textContent : "";
    cells[1].textContent = found ? found.cells[2].textContent : "";
    cells[0].dataset.order = found ? found.dataset.order : "";
    cells[1].dataset.order = cells[1].textContent;
  }
  if (sorted) sorted.rows().invalidate("dom").draw(false);
};

for (const table of document.querySelectorAll("table.cases")) {
  const options = { paging: false, info: false, order: [], autoWidth: false, stripeClasses: [] };
  const sorted = Table && new Table(table, { ...options, language: { search: "filter" } });
  const box = document.getElementById(table.dataset.choice);
  const choice = box.querySelector("select");
  const show = () => {
    table.classList.toggle("compared", choice.value !== "");
    // Rows hidden by a filter are not in the document, so all rows are restored first.
    if (sorted) sorted.search("").draw();
    compare(table, sorted, choice.value);
  };
  choice.addEventListener("change", show);
  box.hidden = false;
}
