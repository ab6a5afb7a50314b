// The page: signs in, opens the stream, and shows the view that its address names.

import { useEffect, useMemo, useState } from "preact/hooks";
import { SessionContext } from "./actions/access.ts";
import { ActionHost } from "./actions/host.tsx";
import { onSessionEnd } from "./api.ts";
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

/** The session that there is, or a new one by the token in the page's address. */
async function start(): Promise<Stage> {
  const token = takeToken();
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

/** The route of the page's address. */
function useRoute(): Route {
  const [found, setFound] = useState(() => route(location.hash));
  useEffect(() => {
    const listen = () => {
      setFound(route(location.hash));
      window.scrollTo(0, 0);
    };
    window.addEventListener("hashchange", listen);
    return () => window.removeEventListener("hashchange", listen);
  }, []);
  return found;
}

/** The page. */
export function App() {
  const [stage, setStage] = useState<Stage>({ step: "starting" });
  useEffect(() => {
    void start().then(setStage);
    return onSessionEnd(() =>
      setStage((last) => (last.step === "signed-in" ? { step: "signed-out", reason: OVER } : last)),
    );
  }, []);
  switch (stage.step) {
    case "starting":
      return <p class="starting">Corral</p>;
    case "signed-out":
      return (
        <SignIn reason={stage.reason} onSession={(session) => setStage({ step: "signed-in", session })} />
      );
    case "signed-in":
      return (
        <SessionContext.Provider value={stage.session}>
          <SignedIn
            session={stage.session}
            signOut={() => void end().then(() => setStage({ step: "signed-out", reason: undefined }))}
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

function SignedIn({ session, signOut }: { session: Session; signOut: () => void }) {
  const found = useRoute();
  const [level, setLevel] = useState("notice");
  const wanted = useMemo(() => wish(found, level), [found.view, found.name, level]);
  useEffect(() => {
    const stream = new Stream(wanted, async () => void (await current()));
    return () => stream.close();
  }, [wanted.application, wanted.log]);
  useEffect(() => () => store.forget(), []);
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
