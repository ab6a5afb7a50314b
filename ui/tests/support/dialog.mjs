// Questions of the page, and their answers.

/** Presses the button of an action; the dialog that asks. */
export async function ask(page, button, title) {
  await page.getByRole("main").getByRole("button", { name: button, exact: true }).first().click();
  const dialog = page.getByRole("dialog", { name: title, exact: true });
  await dialog.waitFor();
  return dialog;
}

/** Says yes, waits for the daemon's answer in words, and closes the dialog. */
export async function answer(page, verb) {
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: verb, exact: true }).click();
  const words = await dialog.getByRole("alert").innerText();
  await dialog.getByRole("button", { name: "Close", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  return words;
}
