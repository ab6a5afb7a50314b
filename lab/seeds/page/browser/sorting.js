// Headings of the table of all cells become buttons that sort it.

const sorted = document.querySelector("table.sorted");

/** A number where there is one; what is unknown comes last. */
function value(cell) {
  const text = cell.textContent;
  return cell.classList.contains("n") ? Number(text.replaceAll(",", "")) : text;
}

function compare(one, other) {
  if (typeof one === "string") {
    return one.localeCompare(other, "en", { numeric: true });
  }
  return (Number.isNaN(one) ? -Infinity : one) - (Number.isNaN(other) ? -Infinity : other);
}

function sortBy(head, column) {
  const isRising = head.getAttribute("aria-sort") === "descending";
  sorted.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", isRising ? "ascending" : "descending");
  const body = sorted.tBodies[0];
  const keyed = [...body.rows].map((row) => [value(row.cells[column]), row]);
  keyed.sort(([one], [other]) => (isRising ? compare(one, other) : compare(other, one)));
  body.replaceChildren(...keyed.map(([, row]) => row));
}

[...sorted.tHead.rows[0].cells].forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  button.addEventListener("click", () => sortBy(head, column));
  head.replaceChildren(button);
});
