// Prints how fast the page is: its first paint, and its longest frames while figures come in.
//
//   node speed.mjs BASE TOKEN [VIEW]...     the views whose frames are measured

import { scenario } from "./support/scenario.mjs";

const ROUNDS = 5;
const SECONDS = 5;

const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

/** The longest time between two frames, in milliseconds. */
const longestFrame = (page) =>
  page.evaluate(
    (length) =>
      new Promise((done) => {
        const begun = performance.now();
        let [last, longest] = [begun, 0];
        const next = (now) => {
          longest = Math.max(longest, now - last);
          last = now;
          if (now - begun < length) {
            requestAnimationFrame(next);
          } else {
            done(longest);
          }
        };
        requestAnimationFrame(next);
      }),
    SECONDS * 1000,
  );

await scenario(async (it) => {
  const paints = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const page = await it.page();
    await page.goto(`${it.base}/dashboard/`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const paint = () =>
      performance.getEntriesByName("first-contentful-paint").map(({ startTime }) => startTime);
    paints.push(...(await page.evaluate(paint)));
    await page.context().close();
  }
  console.log(`first paint: ${Math.round(median(paints))} ms (${paints.map(Math.round).join(", ")})`);
  const page = await it.open("overview");
  for (const view of it.more) {
    await it.show(page, view);
    await page.waitForTimeout(1000);
    console.log(`longest frame of ${view}: ${Math.round(await longestFrame(page))} ms`);
  }
});
