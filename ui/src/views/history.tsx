// The last changes of the configuration, each of which can be gone back to.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAsk } from "../actions/action.ts";
import { refusal, useSession } from "../actions/access.ts";
import { goBack } from "../actions/configuration.tsx";
import { ask } from "../api.ts";
import { type InForce, readInForce } from "../config/in-force.ts";
import type { Json } from "../live/patch.ts";
import type { Change, State } from "../live/state.ts";
import { Diff } from "../parts/diff.tsx";
import { Pill } from "../parts/pill.tsx";
import { Nothing } from "../parts/section.tsx";
import { useTip } from "../parts/tip.tsx";
import { ChangeWords } from "./change.tsx";

/** Both sides of a comparison are written in the same way. */
const written = (value: Json | undefined): string => JSON.stringify(value ?? null, null, 4);

interface Opened {
  id: number;
  text: string;
}

/** The list, read again with each change. */
function useChanges(generation: number | undefined): Change[] | string | undefined {
  const [changes, setChanges] = useState<Change[] | string>();
  useEffect(() => {
    void ask({ method: "GET", path: "/config/history" }).then((answer) =>
      setChanges(
        answer.isDone && Array.isArray(answer.body) ? (answer.body as unknown as Change[]) : answer.words,
      ),
    );
  }, [generation]);
  return changes;
}

/** The configuration after a change, or why it cannot be read. */
async function read(change: Change): Promise<Opened | string> {
  const answer = await ask({ method: "GET", path: `/config/history/${change.id}` });
  const body = answer.body as { config?: Json } | null;
  return answer.isDone ? { id: change.id, text: written(body?.config) } : answer.words;
}

/** The tab. */
export function History({ inForce, state }: { inForce: InForce; state: State }) {
  const changes = useChanges(state.generation);
  const [opened, setOpened] = useState<Opened>();
  const [problem, setProblem] = useState<string>();
  /** The change that was to be compared last: answers about others come too late. */
  const wanted = useRef<number | undefined>(undefined);
  const now = useMemo(() => written(inForce.value), [inForce]);
  const take = (found: Opened | string): Opened | undefined => {
    setProblem(typeof found === "string" ? found : undefined);
    return typeof found === "string" ? undefined : found;
  };
  const compare = async (change: Change) => {
    if (opened?.id === change.id) {
      wanted.current = undefined;
      setOpened(undefined);
      return;
    }
    wanted.current = change.id;
    const found = await read(change);
    if (wanted.current === change.id) {
      setOpened(take(found));
    }
  };
  if (typeof changes === "string") {
    return <p class="answer bad">{changes}</p>;
  }
  if (changes === undefined || changes.length === 0) {
    return (
      <Nothing>
        {changes === undefined ? "Reading the history…" : "The configuration has not been changed yet."}
      </Nothing>
    );
  }
  return (
    <>
      {problem !== undefined && (
        <p role="alert" class="answer bad">
          {problem}
        </p>
      )}
      <ol class="history">
        {changes.map((change) => (
          <li key={change.id} class="card">
            <div class="history-words">
              <ChangeWords change={change} now={state.time} />
            </div>
            <div class="buttons">
              {change.in_force === true ? (
                <Pill tone="good" word="in force" />
              ) : (
                <>
                  <button
                    type="button"
                    class="button small"
                    aria-expanded={opened?.id === change.id}
                    onClick={() => void compare(change)}
                  >
                    Compare<span class="unseen"> change {change.id} with what is in force</span>
                  </button>
                  <GoBack change={change} open={async () => take(await read(change))} />
                </>
              )}
            </div>
            {opened?.id === change.id && (
              <div class="history-diff">
                <p class="note">Going back to it would change these lines:</p>
                <Diff
                  label={`Differences of change ${change.id} from what is in force`}
                  old={now}
                  fresh={opened.text}
                />
              </div>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}

interface GoBackProps {
  change: Change;
  open: () => Promise<Opened | undefined>;
}

/** Asks with the differences in sight, which have to be read first. */
function GoBack({ change, open }: GoBackProps) {
  const askFor = useAsk();
  const why = refusal(useSession(), "configuration");
  const { attributes, tip } = useTip(why);
  const [isReading, setReading] = useState(false);
  const isLocked = why !== undefined || isReading;
  const start = async () => {
    setReading(true);
    const [found, inForce] = await Promise.all([open(), readInForce()]);
    setReading(false);
    if (found !== undefined && inForce !== undefined) {
      askFor(goBack(change, { old: written(inForce.value), fresh: found.text }, inForce.tag));
    }
  };
  return (
    <span class="term-around">
      <button
        type="button"
        class="button small"
        aria-disabled={isLocked}
        {...attributes}
        onClick={() => !isLocked && void start()}
      >
        Go back<span class="unseen"> to change {change.id}</span>
      </button>
      {tip}
    </span>
  );
}
