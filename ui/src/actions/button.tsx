// The button of an action. One that may not be pressed says why, and can be reached by the keyboard all the same.

import type { ComponentChildren } from "preact";
import { useTip } from "../parts/tip.tsx";
import { refusal, useSession } from "./access.ts";
import { type Action, useAsk } from "./action.ts";

interface ActionButtonProps {
  /** Made when the button is pressed. */
  action: () => Action;
  kind: Action["kind"];
  /** The subject of the button, for people who do not see its place. */
  about?: string;
  /** Why it cannot be done at the moment. */
  reason?: string | undefined;
  look?: "plain" | "small" | "main";
  children: ComponentChildren;
}

/** The button. */
export function ActionButton({ action, kind, about, reason, look = "plain", children }: ActionButtonProps) {
  const ask = useAsk();
  const why = refusal(useSession(), kind) ?? reason;
  const { attributes, tip } = useTip(why);
  return (
    <span class="term-around">
      <button
        type="button"
        class={`button ${look}`}
        aria-disabled={why !== undefined}
        {...attributes}
        onClick={() => why === undefined && ask(action())}
      >
        {children}
        {about !== undefined && <span class="unseen"> {about}</span>}
      </button>
      {tip}
    </span>
  );
}
