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

/** All values of a text by their pointers; the place of a member begins with its name. */
function* values(text: string): Generator<[string, Place]> {
  const walk = new Walk();
  for (const [token, from] of tokens(text)) {
    const parent = walk.stack.at(-1);
    const path = walk.take(token, from);
    if (path !== undefined) {
      const begin = parent?.isObject === true ? parent.nameFrom : from;
      yield [pointer(path), { from: begin, to: from + token.length }];
    }
  }
}

/** A pointer and those of all values around it, from the innermost one on. */
const outwards = (wanted: string): string[] =>
  wanted === "" ? [""] : [wanted, ...outwards(wanted.slice(0, wanted.lastIndexOf("/")))];

/**
 * The place of each pointer, or else of the innermost value around it that is there: what is missing belongs into it.
 * The text is walked once for all of them.
 */
export function nearestPlaces(text: string, wanted: readonly string[]): Map<string, Place> {
  const asked = new Set(wanted.flatMap(outwards));
  const places = new Map<string, Place>();
  for (const [at, place] of values(text)) {
    if (asked.has(at) && !places.has(at)) {
      places.set(at, place);
    }
  }
  const nearest = (one: string) => outwards(one).flatMap((at) => places.get(at) ?? [])[0];
  return new Map(
    wanted.flatMap((one) => {
      const place = nearest(one);
      return place === undefined ? [] : [[one, place]];
    }),
  );
}

/** The same of one pointer. */
export const nearestPlace = (text: string, wanted: string): Place | undefined =>
  nearestPlaces(text, [wanted]).get(wanted);

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
