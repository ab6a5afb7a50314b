// Where the values of a JSON text stand: the place of a pointer, and the path at the cursor.
//
// The text is being typed, so that it may break off or go wrong at any place: what was understood so far counts.

import { pointer } from "./pointer.ts";

/** Names of members and indices of elements, from the outermost one on. */
export type Path = (string | number)[];

/** A range of the text. */
export interface Place {
  from: number;
  to: number;
}

interface Container {
  isObject: boolean;
  index: number;
  /** The member whose name was read last. */
  name: string | undefined;
  nameFrom: number;
  isBehindColon: boolean;
}

// Strings with their escapes, marks, comments, and everything else between white space.
const TOKENS = /"(?:[^"\\\n]|\\.)*"?|[{}[\],:]|\/\/[^\n]*|\/\*[^]*?\*\/|[^\s{}[\],:"]+/g;

const unquoted = (text: string): string => {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.replace(/^"|"$/g, "");
  }
};

class Walk {
  readonly stack: Container[] = [];

  path(): Path {
    return this.stack.flatMap(({ isObject, name, index }): Path => {
      const last = isObject ? name : index;
      return last === undefined ? [] : [last];
    });
  }

  /** Takes a token; the path of the value that begins with it, if one does. */
  take(token: string, from: number): Path | undefined {
    const top = this.stack.at(-1);
    if (token === "}" || token === "]") {
      this.stack.pop();
    } else if (token === "," && top !== undefined) {
      top.index += 1;
      top.name = undefined;
      top.isBehindColon = false;
    } else if (token === ":" && top !== undefined) {
      top.isBehindColon = true;
    } else if (top?.isObject === true && !top.isBehindColon) {
      top.name = unquoted(token);
      top.nameFrom = from;
    } else {
      return this.begin(token);
    }
    return undefined;
  }

  private begin(token: string): Path {
    const path = this.path();
    if (token === "{" || token === "[") {
      const isObject = token === "{";
      this.stack.push({ isObject, index: 0, name: undefined, nameFrom: 0, isBehindColon: false });
    }
    return path;
  }
}

function* tokens(text: string): Generator<[string, number]> {
  for (const match of text.matchAll(TOKENS)) {
    if (!match[0].startsWith("/")) {
      yield [match[0], match.index];
    }
  }
}

/** Where the value at a pointer begins; that of a member begins with its name. */
export function placeOf(text: string, wanted: string): Place | undefined {
  const walk = new Walk();
  for (const [token, from] of tokens(text)) {
    const parent = walk.stack.at(-1);
    const path = walk.take(token, from);
    if (path !== undefined && pointer(path) === wanted) {
      return { from: parent?.isObject === true ? parent.nameFrom : from, to: from + token.length };
    }
  }
  return undefined;
}

/** The place of the innermost value on the way of a pointer that is there: what is missing belongs into it. */
export function nearestPlace(text: string, wanted: string): Place | undefined {
  for (let left = wanted; ; left = left.slice(0, left.lastIndexOf("/"))) {
    const place = placeOf(text, left);
    if (place !== undefined || left === "") {
      return place;
    }
  }
}

/** The path of the value, or of the name, that an offset is in or behind. */
export function pathAt(text: string, offset: number): Path {
  const walk = new Walk();
  for (const [token, from] of tokens(text)) {
    // The name that the cursor stands in front of counts.
    if (from > offset || (from === offset && !token.startsWith('"'))) {
      break;
    }
    walk.take(token, from);
  }
  return walk.path();
}

/** The line of an offset, from 0. */
export function lineOf(text: string, offset: number): number {
  let line = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) {
    line += 1;
  }
  return line;
}
