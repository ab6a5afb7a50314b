// JSON pointers (RFC 6901), and the paths of the control API that lead to the same values.

/** The names and indices that a pointer consists of. */
export const names = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));

/** The pointer of these names. */
export const pointer = (path: readonly (string | number)[]): string =>
  path.map((name) => `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** The path of the control API below a first part, such as `/config`. */
export const apiPath = (first: string, path: readonly (string | number)[]): string =>
  [first, ...path.map((name) => encodeURIComponent(name))].join("/");
