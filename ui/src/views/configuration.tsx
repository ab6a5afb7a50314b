// The configuration: edited, compared with what is in force, and its history.

import { useEffect, useState } from "preact/hooks";
import { useSession } from "../actions/access.ts";
import { useAsk } from "../actions/action.ts";
import { ActionButton } from "../actions/button.tsx";
import { apply, discard } from "../actions/configuration.tsx";
import {
  discardDraft,
  dropDraft,
  editDraft,
  rebaseDraft,
  sendDraft,
  settleDraft,
  useDraft,
} from "../config/draft.ts";
import { readInForce, useInForce } from "../config/in-force.ts";
import { useValidation, type Validation } from "../config/validation.ts";
import { useLive } from "../live/store.ts";
import { Diff } from "../parts/diff.tsx";
import { Heading, Nothing, Remark } from "../parts/section.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { EditTab } from "./edit.tsx";
import { History } from "./history.tsx";

const reasonFor = (isChanged: boolean, validation: Validation): string | undefined => {
  if (!isChanged) {
    return "The text is what is in force.";
  }
  return validation.is === "invalid" ? "The text is not a valid configuration." : undefined;
};

/** The view; the name is a place in the configuration, or a tab. */
export function Configuration({ name }: { name: string | undefined }) {
  const { state } = useLive();
  const session = useSession();
  const askFor = useAsk();
  const inForce = useInForce(state?.tag);
  const draft = useDraft();
  // After each draw: a text that was on its way may have arrived.
  useEffect(() => {
    if (inForce !== undefined) {
      dropDraft(inForce);
    }
  });
  const [tab, setTab] = useState(name === "history" ? "history" : "edit");
  const text = draft?.text ?? inForce?.text ?? "";
  const isChanged = draft !== undefined && inForce !== undefined && draft.text !== inForce.text;
  const validation = useValidation(isChanged && session.access === "full" ? draft.text : undefined);
  if (state === undefined || inForce === undefined) {
    return (
      <>
        <Heading title="Configuration" />
        <Nothing>Reading the configuration…</Nothing>
      </>
    );
  }
  const basis = { tag: inForce.tag, access: session.access };
  const change = (next: string) => editDraft(next, basis);
  const question = () => {
    const sent = draft ?? { text, ...basis, lineage: 0 };
    return apply({ old: inForce.text, fresh: text }, sent.tag, {
      onStart: sendDraft,
      onDone: (answer) => settleDraft(sent, answer, readInForce),
    });
  };
  return (
    <>
      <Heading title="Configuration">
        <Verdict validation={validation} />
        <span class="buttons">
          {isChanged && (
            <button type="button" class="button" onClick={() => askFor(discard(discardDraft))}>
              Discard
            </button>
          )}
          <ActionButton
            kind="configuration"
            look="main"
            reason={reasonFor(isChanged, validation)}
            action={question}
          >
            Put in force
          </ActionButton>
        </span>
      </Heading>
      <Notes
        files={session.files}
        isReadOnly={session.access === "read"}
        error={state.status.config?.last_error}
      />
      {isChanged && draft.tag !== inForce.tag && <Overtaken tag={inForce.tag} />}
      <Tabs
        label="Configuration"
        shown={tab}
        show={setTab}
        tabs={[
          {
            key: "edit",
            label: "Edit",
            content: () => (
              <EditTab
                text={text}
                change={session.access === "full" ? change : undefined}
                validation={validation}
                place={name?.startsWith("/") === true ? name : undefined}
              />
            ),
          },
          {
            key: "changes",
            label: isChanged ? "Differences •" : "Differences",
            content: () =>
              isChanged ? (
                <Diff label="Differences from what is in force" old={inForce.text} fresh={text} />
              ) : (
                <Nothing>The text is what is in force.</Nothing>
              ),
          },
          { key: "history", label: "History", content: () => <History inForce={inForce} state={state} /> },
        ]}
      />
    </>
  );
}

/** The daemon's verdict in a word. */
function Verdict({ validation }: { validation: Validation }) {
  const words = {
    unchanged: "",
    checking: "Checking…",
    valid: "Valid",
    invalid: "Not valid",
    unknown: "Not checked",
  }[validation.is];
  return (
    <span role="status" class={`verdict ${validation.is}`}>
      {words}
    </span>
  );
}

interface NotesProps {
  files: string | undefined;
  isReadOnly: boolean;
  /** Why it is not stored, or not what its files say. */
  error: string | undefined;
}

function Notes({ files, isReadOnly, error }: NotesProps) {
  return (
    <>
      {error !== undefined && (
        <Remark tone="bad">
          <p>{error}</p>
        </Remark>
      )}
      {files !== undefined && (
        <Remark tone="calm">
          <p>
            The configuration comes from <code>{files}</code>. Change it there, then have the daemon read it
            again: <code>systemctl reload corral</code>, or SIGHUP. A text can be tried here all the same.
          </p>
        </Remark>
      )}
      {isReadOnly && (
        <Remark tone="calm">
          <p>This session may only read. Sign in with the control token to change something.</p>
        </Remark>
      )}
    </>
  );
}

/** Another change came into force since the draft was begun. */
function Overtaken({ tag }: { tag: string | undefined }) {
  return (
    <Remark tone="warn">
      <p>
        The configuration was changed since you began, so that yours would be refused. Look at the
        differences: where they take back the other change, put it into your text.
      </p>
      <p>
        <button type="button" class="button" onClick={() => rebaseDraft(tag)}>
          I have looked at them
        </button>
      </p>
    </Remark>
  );
}
