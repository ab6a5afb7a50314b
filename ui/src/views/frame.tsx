// The frame of each view: navigation, the state of the connection, the session.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAsk } from "../actions/action.ts";
import { askToSignOut } from "../actions/sign-out.ts";
import { clock } from "../format.ts";
import { type Link, useLive } from "../live/store.ts";
import { Logo } from "../parts/logo.tsx";
import { Remark } from "../parts/section.tsx";
import { Shape } from "../parts/pill.tsx";
import { link, type Route } from "../route.ts";
import { type Session, versionOfPage } from "../session.ts";
import { VIEWS } from "./view.tsx";

interface FrameProps {
  route: Route;
  session: Session;
  /** Why the session goes on, if it does. */
  signOut: () => Promise<string | undefined>;
  children: ComponentChildren;
}

/** The frame. */
export function Frame({ route, session, signOut, children }: FrameProps) {
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  // A new view is read from its heading on.
  useEffect(() => {
    if (!isFirst.current) {
      main.current?.querySelector("h1")?.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [route.view, route.name]);
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.querySelector("h1")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="side">
        <a class="home" href={link("overview")} aria-label="Corral, overview">
          <Logo />
        </a>
        <Navigation shown={route.view} />
        <div class="side-foot">
          <Connection />
          <p class="note">
            {session.access === "full" ? "May change things" : "Reading only"}, version {session.version}
          </p>
          <SignOut signOut={signOut} />
        </div>
      </header>
      <main class="content" id="main" ref={main}>
        <Banner />
        {children}
      </main>
    </div>
  );
}

function SignOut({ signOut }: Pick<FrameProps, "signOut">) {
  const [problem, setProblem] = useState<string>();
  const ask = useAsk();
  const run = () => void signOut().then(setProblem);
  return (
    <>
      <button type="button" class="button small" onClick={() => askToSignOut(ask, run)}>
        Sign out
      </button>
      {problem !== undefined && (
        <p role="alert" class="answer bad">
          You are still signed in. {problem}
        </p>
      )}
    </>
  );
}

function Navigation({ shown }: { shown: string }) {
  const { state } = useLive();
  const attention = state?.attention?.length ?? 0;
  const nav = useRef<HTMLElement>(null);
  // On a narrow screen, not all of them are in sight.
  useEffect(
    () =>
      nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }),
    [shown],
  );
  return (
    <nav aria-label="Views" ref={nav}>
      <ul>
        {VIEWS.map(({ view, label }) => (
          <li key={view}>
            <a href={link(view)} {...(view === shown ? { "aria-current": "page" } : {})}>
              {label}
              {view === "overview" && attention > 0 && (
                <span class="badge">
                  {attention}
                  <span class="unseen"> {attention === 1 ? "needs" : "need"} attention</span>
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const LINKS: Record<Link, ["good" | "warn" | "calm", string]> = {
  live: ["good", "Live"],
  connecting: ["calm", "Connecting…"],
  still: ["warn", "No new figures"],
  lost: ["warn", "Connecting again…"],
};

function Connection() {
  const { link: state } = useLive();
  const [tone, words] = LINKS[state];
  return (
    <p class="connection" role="status">
      <Shape tone={tone} /> {words}
    </p>
  );
}

/** Why figures are old, if they are. */
function trouble(connection: Link, reason: string | undefined): string | undefined {
  if (connection === "still") {
    return "The daemon has sent no new figures for a while.";
  }
  if (connection !== "lost") {
    return undefined;
  }
  return reason === undefined
    ? "The connection to the daemon is lost; it is tried again."
    : `The daemon sends no figures. ${reason}`;
}

/** Words that a person has to read before believing the figures. */
function Banner() {
  const { link: connection, reason, state } = useLive();
  const own = versionOfPage();
  const version = state?.version ?? own;
  const words = trouble(connection, reason);
  return (
    <>
      {words !== undefined && (
        <Remark tone="warn">
          <p>
            {words}
            {state !== undefined && ` These are the figures of ${clock(state.time, Date.now() / 1000)}.`}
          </p>
        </Remark>
      )}
      {version !== own && (
        <Remark tone="calm">
          <p>
            The daemon is version {version} by now, and this page is of version {own}.{" "}
            <button type="button" class="button small" onClick={() => location.reload()}>
              Load it again
            </button>
          </p>
        </Remark>
      )}
    </>
  );
}
