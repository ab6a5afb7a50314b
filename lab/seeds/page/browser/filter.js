// The filter above the table of all cells: words that a row has to have, and a verdict.

const form = document.querySelector(".filter");
const rows = [...document.querySelectorAll("table.sorted tbody tr")].map((row) => ({
  row,
  text: row.textContent.toLowerCase(),
  verdict: row.lastElementChild.textContent,
}));

function filter() {
  const words = form.querySelector("input").value.toLowerCase().split(/\s+/);
  const verdict = form.querySelector("select").value;
  let count = 0;
  for (const { row, text, verdict: own } of rows) {
    const isShown = own.startsWith(verdict) && words.every((word) => text.includes(word));
    row.hidden = !isShown;
    count += isShown;
  }
  const [some, all] = [count, rows.length].map((number) => number.toLocaleString("en"));
  form.querySelector("output").textContent = `${some} of ${all} cells`;
}

form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
