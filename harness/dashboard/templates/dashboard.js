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

for (const form of document.querySelectorAll("form[data-static]")) {
  const fields = Array.from(form.querySelectorAll("[data-filter]"));
  const rows = Array.from(document.querySelectorAll("[data-row]"));
  const count = form.querySelector("[data-count]");

  const accepts = (row, field) => {
    const wanted = field.value.trim();
    const name = field.dataset.filter;
    if (!wanted) return true;
    if (name === "text") return (row.dataset.text || "").toLowerCase().includes(wanted.toLowerCase());
    if (name === "from") return !(Number(row.dataset.time) < Date.parse(wanted) / 1000);
    if (name === "to") return !(Number(row.dataset.time) >= Date.parse(wanted) / 1000 + 86400);
    return row.dataset[name] === wanted;
  };
  const apply = () => {
    let shown = 0;
    for (const row of rows) {
      row.hidden = !fields.every((field) => accepts(row, field));
      shown += row.hidden ? 0 : 1;
    }
    if (count) count.textContent = shown < rows.length ? `${shown} of ${rows.length}` : "";
  };
  const restore = () => {
    const chosen = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) field.value = chosen.get(field.name) || "";
    apply();
  };
  const remember = () => {
    const chosen = fields.filter((field) => field.value).map((field) => [field.name, field.value]);
    history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
    apply();
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", remember);
  addEventListener("hashchange", restore);
  restore();
}
