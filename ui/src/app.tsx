// The page: signs in, opens the stream, and shows the view that its address names.

import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { SessionContext } from "./actions/access.ts";
import { ActionHost } from "./actions/host.tsx";
import { onSessionEnd } from "./api.ts";
import { discardDraft } from "./config/draft.ts";
import { forgetInForce } from "./config/in-force.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Stream, type Wish } from "./live/stream.ts";
import { store } from "./live/store.ts";
import { type Route, route } from "./route.ts";
import { begin, current, end, type Session, takeToken } from "./session.ts";
import { Frame } from "./views/frame.tsx";
import { SignIn } from "./views/sign-in.tsx";
import { View } from "./views/view.tsx";

type Stage =
  | { step: "starting" }
  | { step: "signed-in"; session: Session }
  | { step: "signed-out"; reason: string | undefined };

const OVER =
  "The session is over: twelve hours have passed, or the daemon was started anew. " +
  "The command corral dashboard prints a new address.";

/** The session that a token begins, or the one that there is. */
async function start(token: string | undefined): Promise<Stage> {
  const attempt = token === undefined ? await current() : await begin(token);
  if (attempt.session !== undefined) {
    return { step: "signed-in", session: attempt.session };
  }
  // A token that was used before may have left a session behind.
  const other = token === undefined ? attempt : await current();
  return other.session === undefined
    ? { step: "signed-out", reason: attempt.reason }
    : { step: "signed-in", session: other.session };
}

const rights = (stage: Stage): string | undefined =>
  stage.step === "signed-in" ? stage.session.access : undefined;

/** Forgets everything that one session was shown and another may not be. */
function forget(): void {
  store.forget();
  forgetInForce();
  discardDraft();
}

/** The stage, and a function that leads from the last one to the next. */
function useStage(): [Stage, (next: (last: Stage) => Stage) => void] {
  const [stage, setStage] = useState<Stage>({ step: "starting" });
  const go = useCallback((next: (last: Stage) => Stage) => {
    setStage((last) => {
      const found = next(last);
      // Before anything is drawn for the next session.
      if (rights(found) !== rights(last)) {
        forget();
      }
      return found;
    });
  }, []);
  return [stage, go];
}

/** The route of the page's address. */
function useRoute(): Route {
  const [found, setFound] = useState(() => route(location.hash));
  // Before the browser does anything else: the address may change at once.
  useLayoutEffect(() => {
    const listen = () => {
      setFound(route(location.hash));
      window.scrollTo(0, 0);
    };
    window.addEventListener("hashchange", listen);
    return () => window.removeEventListener("hashchange", listen);
  }, []);
  return found;
}

/** Calls a function with the token of the page's address, now and whenever a link with another one is opened here. */
function useToken(take: (token: string | undefined) => void): void {
  useEffect(() => {
    take(takeToken());
    const listen = () => {
      const token = takeToken();
      if (token !== undefined) {
        take(token);
      }
    };
    window.addEventListener("hashchange", listen);
    return () => window.removeEventListener("hashchange", listen);
  }, []);
}

/** The page. */
export function App() {
  const [stage, go] = useStage();
  const signedIn = (session: Session) => go(() => ({ step: "signed-in", session }));
  // Before views listen to the address: a token is not the name of one.
  useToken((token) => void start(token).then((found) => go(() => found)));
  useEffect(
    () =>
      onSessionEnd(() =>
        go((last) => (last.step === "signed-in" ? { step: "signed-out", reason: OVER } : last)),
      ),
    [],
  );
  const signOut = async () => {
    const answer = await end();
    if (answer.isDone) {
      go(() => ({ step: "signed-out", reason: undefined }));
    }
    return answer.isDone ? undefined : answer.words;
  };
  switch (stage.step) {
    case "starting":
      return <p class="starting">Corral</p>;
    case "signed-out":
      return <SignIn key={stage.reason} reason={stage.reason} onSession={signedIn} />;
    case "signed-in":
      return (
        <SessionContext.Provider value={stage.session}>
          <SignedIn
            key={stage.session.access}
            session={stage.session}
            onOther={signedIn}
            signOut={signOut}
          />
        </SessionContext.Provider>
      );
  }
}

/** The further parts of the stream that a view needs. */
function wish(found: Route, level: string): Wish {
  if (found.view === "log") {
    return { log: level };
  }
  return found.view === "applications" && found.name !== undefined ? { application: found.name } : {};
}

interface SignedInProps {
  session: Session;
  /** Called with a session of other rights, which another tab has begun. */
  onOther: (session: Session) => void;
  /** Why the session goes on, if it does. */
  signOut: () => Promise<string | undefined>;
}

function SignedIn({ session, onOther, signOut }: SignedInProps) {
  const found = useRoute();
  const [level, setLevel] = useState("notice");
  const wanted = useMemo(() => wish(found, level), [found.view, found.name, level]);
  useEffect(() => {
    const stream = new Stream(wanted, async () => {
      const { session: found } = await current();
      if (found !== undefined && found.access !== session.access) {
        onOther(found);
      }
    });
    return () => stream.close();
  }, [wanted.application, wanted.log]);
  return (
    <ActionHost>
      <Frame route={found} session={session} signOut={signOut}>
        <Boundary key={`${found.view} ${found.name}`}>
          <View route={found} level={level} setLevel={setLevel} />
        </Boundary>
      </Frame>
    </ActionHost>
  );
}
