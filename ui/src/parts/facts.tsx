// Names with what is to be said of them.

import type { ComponentChildren } from "preact";

/** A list of them; those without a value are left out. */
export const Facts = ({ facts }: { facts: [ComponentChildren, ComponentChildren | undefined][] }) => (
  <dl class="facts">
    {facts.map(([name, value], at) =>
      value === undefined ? null : (
        <div key={at}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ),
    )}
  </dl>
);
