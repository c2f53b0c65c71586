"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const measured = Array.from(body.rows);
  const headings = Array.from(table.tHead.rows[0].cells);
  if (measured.length < 2) continue;
  headings.forEach((heading, column) => {
    if (heading.querySelector(".hidden")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const last = heading.getAttribute("aria-sort");
      for (const other of headings) other.removeAttribute("aria-sort");
      if (last === "descending") {
        body.append(...measured);
        return;
      }
      const sign = last === "ascending" ? -1 : 1;
      heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const keys = new Map(measured.map((row) => {
        const cell = row.cells[column];
        const number = cell.dataset.sort;
        return [row, { text: cell.textContent.trim(), number: number === undefined ? null : Number(number) }];
      }));
      const compare = (first, second) => {
        const one = keys.get(first), other = keys.get(second);
        if (!one.text || !other.text) return (one.text ? 0 : 1) - (other.text ? 0 : 1);
        if (one.number !== null && other.number !== null) return sign * (one.number - other.number || 0);
        return sign * one.text.localeCompare(other.text, undefined, { numeric: true });
      };
      body.append(...measured.slice().sort(compare));
    });
  });
}
