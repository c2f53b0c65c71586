// Commands are copied, and in a folder of pages rows are filtered here: a server does that itself.
for (const button of document.querySelectorAll("button.copy")) {
  const code = button.parentElement.querySelector("code");
  button.hidden = false;
  button.addEventListener("click", async () => {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      document.execCommand("copy"); // pages from a disk may not write to the clipboard
    }
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
}

// Rows are shown if they fit the form of a page without a server, and the state that was chosen among the counts.
const rows = Array.from(document.querySelectorAll("[data-row]"));
const form = document.querySelector("form[data-static]");
const fields = form ? Array.from(form.querySelectorAll("[data-filter]")) : [];
const count = document.querySelector("[data-count]");
let state = "";

function accepts(row, field) {
  const wanted = field.value.trim();
  const name = field.dataset.filter;
  if (!wanted) return true;
  if (name === "text") return (row.dataset.text || "").toLowerCase().includes(wanted.toLowerCase());
  if (name === "from") return !(Number(row.dataset.time) < Date.parse(wanted) / 1000);
  if (name === "to") return !(Number(row.dataset.time) >= Date.parse(wanted) / 1000 + 86400);
  return row.dataset[name] === undefined || row.dataset[name] === wanted;
}

function apply() {
  let shown = 0;
  for (const row of rows) {
    const fits = !state || row.dataset.state === undefined || row.dataset.state === state;
    row.hidden = !(fits && fields.every((field) => accepts(row, field)));
    shown += row.hidden ? 0 : 1;
  }
  const devices = fields.find((field) => field.name === "devices");
  for (const cell of document.querySelectorAll("[data-column]")) {
    cell.hidden = Boolean(devices && devices.value) && cell.dataset.column !== devices.value;
  }
  for (const button of document.querySelectorAll("button[data-state]")) {
    button.setAttribute("aria-pressed", String(button.dataset.state === state));
  }
  if (count) count.textContent = shown < rows.length ? `${shown} of ${rows.length}` : "";
}

// The fragment keeps what was chosen, so that the address leads to the same rows; Back undoes a choice.
function restore() {
  const chosen = new URLSearchParams(location.hash.slice(1));
  for (const field of fields) field.value = chosen.get(field.name) || "";
  state = chosen.get("state") || "";
  apply();
}

function remember(isTyping) {
  const chosen = fields.filter((field) => field.value).map((field) => [field.name, field.value]);
  if (state) chosen.push(["state", state]);
  const address = `#${new URLSearchParams(chosen)}`;
  if (isTyping) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  apply();
}

for (const badge of document.querySelectorAll("[data-states] > [data-state]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = badge.className;
  button.dataset.state = badge.dataset.state;
  button.textContent = badge.textContent;
  button.title = "show only these rows, or all again";
  button.addEventListener("click", () => {
    state = state === button.dataset.state ? "" : button.dataset.state;
    remember(false);
  });
  badge.replaceWith(button);
}

if (form) {
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => remember(event.target.tagName !== "SELECT"));
}
if (form || document.querySelector("[data-states]")) {
  addEventListener("popstate", restore);
  restore();
}

// A form that a server answers leaves out what is empty, so that its address stays short.
for (const asked of document.querySelectorAll("form.filters:not([data-static])")) {
  asked.addEventListener("formdata", (event) => {
    for (const [name, value] of Array.from(event.formData)) if (!value) event.formData.delete(name);
  });
}

// A page with runs that have not ended is loaded again, unless somebody chooses in its form or looks elsewhere.
const reloaded = document.querySelector("[data-reload]");
if (reloaded) {
  let isTouched = false;
  for (const kind of ["input", "focusin"]) addEventListener(kind, (event) => { isTouched ||= Boolean(event.target.form); });
  setInterval(() => { if (!isTouched && !document.hidden) location.reload(); }, 1000 * Number(reloaded.dataset.reload));
}
