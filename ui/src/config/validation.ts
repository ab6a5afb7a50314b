// Has the daemon try a configuration while it is being typed. Nothing is changed by that.

import { useEffect, useState } from "preact/hooks";
import { ask, type Problem, problems } from "../api.ts";

/** The verdict on a text. */
export type Validation =
  | { is: "unchanged" | "checking" | "valid" }
  | { is: "unknown"; words: string }
  /** The problems are those of this text, whatever was typed since. */
  | { is: "invalid"; text: string; problems: Problem[] };

const PAUSE = 400;

/** The status of a refusal because of what the text says. */
const isVerdict = (status: number): boolean => status === 400 || status === 500;

/** The verdict on the text, some time after its last change; nothing is tried without a text. */
export function useValidation(text: string | undefined): Validation {
  const [validation, set] = useState<Validation>({ is: "unchanged" });
  useEffect(() => {
    if (text === undefined) {
      set({ is: "unchanged" });
      return undefined;
    }
    set((last) => (last.is === "invalid" ? last : { is: "checking" }));
    const gone = new AbortController();
    const timer = setTimeout(() => {
      const call = { method: "PUT", path: "/config?dry_run=true", body: text, signal: gone.signal } as const;
      void ask(call).then((answer) => {
        if (gone.signal.aborted) {
          return;
        }
        if (answer.isDone) {
          set({ is: "valid" });
        } else if (isVerdict(answer.status)) {
          set({ is: "invalid", text, problems: problems(answer) });
        } else {
          set({ is: "unknown", words: answer.words });
        }
      });
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [text]);
  return validation;
}
