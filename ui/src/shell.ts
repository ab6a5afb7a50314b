// Calls of the API as commands that a person can run.

/** A text as one word of a shell. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A call by curl. */
export function curl(origin: string, method: string, path: string, body: string | undefined): string {
  const words = ["curl", "-X", method, `${origin}${path}`];
  if (method === "POST") {
    words.push("-H", "X-Requested-With: curl");
  }
  if (body !== undefined) {
    words.push("-d", body.length > 200 ? "@site.json" : body);
  }
  return words.map(quoted).join(" ");
}
