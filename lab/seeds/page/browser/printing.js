// On paper, plots are light, and everything but configurations is unfolded.

const opened = [];

addEventListener("beforeprint", () => {
  document.documentElement.dataset.print = "";
  for (const folded of document.querySelectorAll("main section:not(#configurations) details:not([open])")) {
    folded.open = true;
    opened.push(folded);
  }
  drawAll();
});

addEventListener("afterprint", () => {
  delete document.documentElement.dataset.print;
  opened.splice(0).forEach((folded) => (folded.open = false));
  drawAll();
});
