// The configuration in force, read again whenever its tag changes.

import { useEffect, useState } from "preact/hooks";
import { ask } from "../api.ts";
import type { Json } from "../live/patch.ts";

/** The document, as text and as a value. */
export interface InForce {
  text: string;
  value: Json;
  tag: string | undefined;
}

/** The configuration in force; `seen` is the tag that the daemon has named last. */
export function useInForce(seen: string | undefined): InForce | undefined {
  const [found, setFound] = useState<InForce>();
  useEffect(() => {
    if (found?.tag !== undefined && found.tag === seen) {
      return undefined;
    }
    const gone = new AbortController();
    void ask({ method: "GET", path: "/config", signal: gone.signal }).then((answer) => {
      if (answer.isDone && !gone.signal.aborted) {
        setFound({ text: answer.text.trimEnd(), value: answer.body, tag: answer.tag });
      }
    });
    return () => gone.abort();
  }, [seen]);
  return found;
}
