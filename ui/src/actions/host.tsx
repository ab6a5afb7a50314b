// Asks before each action, makes its calls, and says what came of it.

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Answer, address, type Call } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { curl } from "../shell.ts";
import { type Action, ActionContext, perform } from "./action.ts";

type Stage = { step: "asking" } | { step: "running" } | { step: "answered"; answer: Answer };

/** The question that is open. */
interface Asked {
  id: number;
  action: Action;
}

interface Notice {
  id: number;
  title: string;
  answer: Answer;
}

const MOST_NOTICES = 4;

/** Everything below it can ask for actions. */
export function ActionHost({ children }: { children: ComponentChildren }) {
  const [asked, setAsked] = useState<Asked>();
  const [notices, setNotices] = useState<Notice[]>([]);
  const number = useRef(0);
  const next = () => (number.current += 1);
  // A question that is open stays: another one would take its place while a person reads it.
  const ask = useCallback((action: Action) => setAsked((last) => last ?? { id: next(), action }), []);
  const tell = useCallback((title: string, answer: Answer) => {
    const notice = { id: next(), title, answer };
    setNotices((all) => [...all, notice].slice(-MOST_NOTICES));
  }, []);
  return (
    <ActionContext.Provider value={ask}>
      {children}
      {asked !== undefined && (
        <Question key={asked.id} action={asked.action} tell={tell} close={() => setAsked(undefined)} />
      )}
      <div class="notices" role="status">
        {notices.map((notice) => (
          <div key={notice.id} class={notice.answer.isDone ? "notice good" : "notice bad"}>
            <p>
              <strong>{notice.title}</strong> {notice.answer.words}
            </p>
            <button
              type="button"
              class="button small"
              onClick={() => setNotices((all) => all.filter((other) => other.id !== notice.id))}
            >
              Dismiss
            </button>
          </div>
        ))}
      </div>
    </ActionContext.Provider>
  );
}

interface QuestionProps {
  action: Action;
  /** Says what came of it to a person who did not wait. */
  tell: (title: string, answer: Answer) => void;
  close: () => void;
}

function Question({ action, tell, close }: QuestionProps) {
  const [stage, setStage] = useState<Stage>({ step: "asking" });
  const [calls, setCalls] = useState(action.calls);
  const isShown = useRef(true);
  useEffect(() => () => void (isShown.current = false), []);
  const isReady = calls.length > 0 || action.instead !== undefined;
  const run = async () => {
    if (action.instead !== undefined) {
      action.instead();
      close();
      return;
    }
    setStage({ step: "running" });
    action.onStart?.();
    const answer = await perform(calls);
    // A question that comes next is about what is in force by then.
    await action.onDone?.(answer);
    if (isShown.current) {
      setStage({ step: "answered", answer });
    } else {
      tell(action.title, answer);
    }
  };
  return (
    <Dialog title={action.title} isWide={action.isWide === true} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (stage.step === "asking" && isReady) {
            void run();
          }
        }}
      >
        {stage.step === "answered" ? (
          <p role="alert" class={stage.answer.isDone ? "answer good" : "answer bad"}>
            {stage.answer.words}
          </p>
        ) : (
          <Explanation
            action={action}
            calls={calls}
            setCalls={setCalls}
            isRunning={stage.step === "running"}
          />
        )}
        <Buttons action={action} stage={stage} isReady={isReady} close={close} />
      </form>
    </Dialog>
  );
}

interface ExplanationProps {
  action: Action;
  calls: Call[];
  setCalls: (calls: Call[]) => void;
  isRunning: boolean;
}

function Explanation({ action, calls, setCalls, isRunning }: ExplanationProps) {
  return (
    <>
      {action.happens.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      {action.form !== undefined && <fieldset disabled={isRunning}>{action.form(setCalls)}</fieldset>}
      {isRunning && (
        <p role="status" class="answer">
          Waiting for the daemon's answer…
        </p>
      )}
      {!isRunning && action.instead === undefined && (
        <details class="command">
          <summary>As a command</summary>
          <pre>{calls.map(({ method, path, body }) => curl(address(""), method, path, body)).join("\n")}</pre>
        </details>
      )}
    </>
  );
}

interface ButtonsProps {
  action: Action;
  stage: Stage;
  isReady: boolean;
  close: () => void;
}

function Buttons({ action, stage, isReady, close }: ButtonsProps) {
  const words = { asking: "Cancel", running: "Do not wait", answered: "Close" }[stage.step];
  return (
    <div class="dialog-buttons">
      <button type="button" class="button" onClick={close} autofocus>
        {words}
      </button>
      {stage.step === "asking" && (
        <button
          type="submit"
          class={action.isGrave === true ? "button grave" : "button main"}
          disabled={!isReady}
        >
          {action.verb}
        </button>
      )}
    </div>
  );
}
