// The choice of the servers in the plots, kept for as long as the page is open.

const chooser = document.querySelector(".chooser");
const boxes = [...chooser.querySelectorAll("input")];
const best = new Set(boxes.filter((box) => box.defaultChecked).map((box) => box.value));

/** The boxes that a button checks. */
const CHOICES = { best: (box) => best.has(box.value), all: () => true, none: () => false };

function show() {
  shown.clear();
  boxes.filter((box) => box.checked).forEach((box) => shown.add(Number(box.value)));
  chooser.querySelector("output").textContent = `${shown.size} of ${boxes.length}`;
  drawAll();
}

boxes.forEach((box) => {
  box.nextElementSibling.replaceWith(sample(servers[Number(box.value)]));
  box.addEventListener("change", show);
});

chooser.querySelectorAll("[data-choose]").forEach((button) =>
  button.addEventListener("click", () => {
    boxes.forEach((box) => (box.checked = CHOICES[button.dataset.choose](box)));
    show();
  }),
);

show();
