// Puts a configuration in force: a text, or an earlier change.

import { useState } from "preact/hooks";
import type { Call } from "../api.ts";
import { commentQuery, isTooLong, MOST_BYTES } from "../config/comment.ts";
import { readInForce } from "../config/in-force.ts";
import type { Change } from "../live/state.ts";
import { Diff } from "../parts/diff.tsx";
import type { Action } from "./action.ts";

interface Comparison {
  old: string;
  fresh: string;
}

/** A whole text. */
export function apply(
  comparison: Comparison,
  tag: string | undefined,
  course: Required<Pick<Action, "onStart" | "onDone">>,
): Action {
  const call = (comment: string): Call => ({
    method: "PUT",
    path: `/config${commentQuery(comment)}`,
    body: comparison.fresh,
    tag,
  });
  return {
    kind: "configuration",
    title: "Put this configuration in force?",
    happens: [
      "Applications whose options differ get new processes, which take over when they serve.",
      "If anything fails, all stays as it is.",
    ],
    verb: "Put in force",
    isWide: true,
    calls: [call("")],
    form: (set) => (
      <Comment comparison={comparison} change={(comment) => set(isTooLong(comment) ? [] : [call(comment)])} />
    ),
    ...course,
  };
}

/** A text that is thrown away. */
export const discard = (instead: () => void): Action => ({
  kind: "configuration",
  title: "Discard this text?",
  happens: ["What you have typed is thrown away. The editor shows what is in force again."],
  verb: "Discard",
  isGrave: true,
  calls: [],
  instead,
});

/** An earlier configuration. */
export function goBack(change: Change, comparison: Comparison, tag: string | undefined): Action {
  const call = (comment: string): Call => ({
    method: "POST",
    path: `/config/history/${change.id}${commentQuery(comment)}`,
    tag,
  });
  return {
    kind: "configuration",
    title: `Go back to change ${change.id}?`,
    happens: [
      "The configuration as it was after this change is put in force again.",
      "That is a change like others, and can be undone.",
    ],
    verb: "Go back",
    isWide: true,
    calls: [call("")],
    form: (set) => (
      <Comment comparison={comparison} change={(comment) => set(isTooLong(comment) ? [] : [call(comment)])} />
    ),
    onDone: readInForce,
  };
}

/** The differences, and a field for words about them. */
function Comment({ comparison, change }: { comparison: Comparison; change: (comment: string) => void }) {
  const [comment, setComment] = useState("");
  return (
    <>
      <Diff label="What changes" old={comparison.old} fresh={comparison.fresh} />
      <label class="field">
        Comment for the history
        <input
          type="text"
          value={comment}
          aria-invalid={isTooLong(comment)}
          onInput={(event) => {
            setComment(event.currentTarget.value);
            change(event.currentTarget.value);
          }}
        />
      </label>
      {isTooLong(comment) && <p class="answer bad">A comment has at most {MOST_BYTES} bytes.</p>}
    </>
  );
}
