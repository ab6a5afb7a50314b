// The page: signs in, opens the stream, and shows the view that its address names.

import { useCallback, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { SessionContext } from "./actions/access.ts";
import { ActionHost } from "./actions/host.tsx";
import { signOut } from "./actions/sign-out.ts";
import { onSessionEnd } from "./api.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Stream, type Wish } from "./live/stream.ts";
import { type Route, route } from "./route.ts";
import { current, type Session, takeToken } from "./session.ts";
import { leave, over, type Stage, start } from "./stage.ts";
import { Frame } from "./views/frame.tsx";
import { SignIn } from "./views/sign-in.tsx";
import { View } from "./views/view.tsx";

/** The stage, and a function that leads from the last one to the next. */
function useStage(): [Stage, (next: (last: Stage) => Stage) => void] {
  const [stage, setStage] = useState<Stage>({ step: "starting" });
  const go = useCallback((next: (last: Stage) => Stage) => {
    setStage((last) => {
      const found = next(last);
      // Before anything is drawn for the next session.
      leave(last, found);
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
  useEffect(() => onSessionEnd(() => go(over)), []);
  const leaveSession = async () => {
    const answer = await signOut();
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
            signOut={leaveSession}
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
