// What a reader does with the page; each answer is true, or says what is wrong.
const settled = () => new Promise((done) => setTimeout(done, 50));
const until = async (done) => {
  for (let turns = 0; turns < 100 && !done(); turns++) await settled();
  return done();
};
const table = document.querySelector("table.cases");
const rows = () => [...table.tBodies[0].rows];
const titles = () => [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
const column = (name) => rows().map((row) => row.cells[titles().indexOf(name)]);
const answers = {};

const luminance = (colour) => {
  const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};

answers.sortable = (await until(() => table.classList.contains("dataTable"))) || "no table can be sorted";

const time = [...table.tHead.rows[0].cells][titles().indexOf("time")];
const button = time.querySelector("[role=button]") ?? time;
const controls = { heading: button, filter: document.querySelector(".dt-search input"),
  choice: document.querySelector(".choice select"), link: rows()[0].querySelector("a[href^='#case-']"),
  details: document.querySelector("summary") };
const unreachable = Object.entries(controls).filter(([, control]) => {
  control?.focus({ focusVisible: true });
  return control?.tabIndex !== 0 || document.activeElement !== control;
});
const unseen = Object.entries(controls).filter(([, control]) => {
  control.focus({ focusVisible: true });
  const style = getComputedStyle(control);
  return style.outlineStyle === "none" && style.boxShadow === "none";
});
answers.keyboard = !unreachable.length || `not reached by Tab: ${unreachable.map(([name]) => name)}`;
answers.focus = !unseen.length || `focus is not seen on: ${unseen.map(([name]) => name)}`;
button.focus();
for (const kind of ["keydown", "keypress", "keyup"]) {
  button.dispatchEvent(new KeyboardEvent(kind, { key: "Enter", keyCode: 13, which: 13, bubbles: true }));
}
await settled();
const times = column("time").map((cell) => cell.dataset.order).filter((order) => order !== "").map(Number);
const rising = times.every((value, place) => !place || times[place - 1] <= value);
const falling = times.every((value, place) => !place || times[place - 1] >= value);
answers.sorted = rising || falling || `not sorted: ${times}`;

const filter = document.querySelector(".dt-search input");
const everything = rows().length;
filter.value = "threshold_raw";
filter.dispatchEvent(new Event("input", { bubbles: true }));
await settled();
await settled();
const names = new Set(column("implementation").map((cell) => cell.textContent));
answers.filtered = (names.size === 1 && rows().length < everything) || `filtered to ${[...names]}`;

const choice = document.querySelector(".choice select");
choice.value = [...choice.options].find((option) => option.text === "scatter").value;
choice.dispatchEvent(new Event("change", { bubbles: true }));
await settled();
const told = column("it is").map((cell) => cell.textContent).filter(Boolean);
const words = ["faster", "slower", "about the same", "undecided", "no interval"];
answers.compared = (told.length > 1 && told.every((word) => words.includes(word))) || `compared: ${told}`;

const timed = rows().find((row) => row.cells[titles().indexOf("time")].dataset.order !== "");
const link = timed.querySelector("a[href^='#case-']");
link.click();
await settled();
const opened = document.getElementById(link.hash.slice(1));
answers.details = opened?.checkVisibility({ contentVisibilityAuto: true }) || `${link.hash} stays folded`;
answers.strip = Boolean(opened?.querySelector(".strip path.dots")) || "a case has no strip of its readings";

const ground = getComputedStyle(document.body).backgroundColor;
const faint = [...document.querySelectorAll("body *")]
  .filter((shown) => [...shown.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .filter((shown) => !["SCRIPT", "STYLE", "TITLE"].includes(shown.tagName.toUpperCase()))
  .map((shown) => [shown, getComputedStyle(shown)])
  .map(([shown, style]) => [shown.tagName, contrast(shown.ownerSVGElement ? style.fill : style.color, ground)])
  .filter(([, found]) => found < 4.5);
answers.contrast = !faint.length || `faint: ${faint.slice(0, 5).join("; ")}`;

const fetched = performance.getEntriesByType("resource").filter((entry) => !/^(blob|data):/.test(entry.name));
answers.network = !fetched.length || `fetched ${fetched.map((entry) => entry.name)}`;
document.documentElement.dataset.answers = JSON.stringify(answers);
