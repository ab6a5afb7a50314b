// Merge patches (RFC 7396) on states that are never changed: equal parts of two states are the same objects.

/** A value of JSON. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

type Members = { [name: string]: Json };

const isObject = (value: Json | undefined): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// Names come from the configuration: without a prototype, `__proto__` and `constructor` are names like others.
const copyOf = (members: Members): Members => Object.assign(Object.create(null) as Members, members);

/** The target with the patch in it. */
export function merge(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) {
    return patch;
  }
  const merged = copyOf(isObject(target) ? target : {});
  for (const name of Object.keys(patch)) {
    const value = patch[name] as Json;
    if (value === null) {
      delete merged[name];
    } else {
      merged[name] = merge(merged[name], value);
    }
  }
  return merged;
}
