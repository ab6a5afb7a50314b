// The meaning of an option at a place of the configuration, from the schema that the API publishes.

import type { Path } from "./places.ts";

/** A part of a JSON Schema, as far as the page reads it. */
export interface Schema {
  description?: string;
  default?: unknown;
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
}

/** An option with its name. */
export interface Option {
  name: string;
  schema: Schema;
}

const own = (members: Record<string, Schema> | undefined, name: string): Schema | undefined =>
  members !== undefined && Object.hasOwn(members, name) ? members[name] : undefined;

function inside(schema: Schema, name: string | number): Schema | undefined {
  if (typeof name === "number") {
    return schema.items;
  }
  const free = schema.additionalProperties;
  return own(schema.properties, name) ?? (typeof free === "object" ? free : undefined);
}

/** The part of the schema for a path. */
export const at = (root: Schema, path: Path): Schema | undefined =>
  path.reduce<Schema | undefined>((schema, name) => schema && inside(schema, name), root);

/** The innermost option on a path that has a meaning of its own. */
export function described(root: Schema, path: Path): Option | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const schema = at(root, path.slice(0, length));
    if (schema?.description !== undefined) {
      return { name: String(path[length - 1]), schema };
    }
  }
  return undefined;
}

/** The options of the object that a path leads into, or that its last member is in. */
export function options(root: Schema, path: Path): Option[] {
  const around = [path, path.slice(0, -1)]
    .map((one) => at(root, one)?.properties)
    .find((one) => one !== undefined);
  return Object.entries(around ?? {}).map(([name, schema]) => ({ name, schema }));
}
