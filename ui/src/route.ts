// The view that the fragment of the page's address names.

/** A view, and what it is about. */
export interface Route {
  view: string;
  /** A name of the configuration. */
  name?: string;
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** The route of a fragment such as `#/applications/blog`. */
export function route(fragment: string): Route {
  const path = fragment.replace(/^#?\/?/, "");
  const [view = "", ...rest] = path.split("/");
  const name = decoded(rest.join("/"));
  return { view: view === "" ? "overview" : view, ...(name === "" ? {} : { name }) };
}

/** The fragment of a view. */
export const link = (view: string, name?: string): string =>
  name === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(name)}`;

/** The fragment of a path that the daemon has named: a view, and perhaps a name. */
export function linkOf(path: string): string {
  const found = route(path);
  return link(found.view, found.name);
}
