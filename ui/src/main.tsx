// The begin of the page.

import { render } from "preact";
import { App } from "./app.tsx";

const place = document.getElementById("app");
if (place !== null) {
  place.replaceChildren();
  render(<App />, place);
}
