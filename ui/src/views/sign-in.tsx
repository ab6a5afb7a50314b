// The form for a token, where there is no session.

import { useEffect, useState } from "preact/hooks";
import { begin, type Session } from "../session.ts";
import { Logo } from "../parts/logo.tsx";

interface SignInProps {
  /** Why there is no session, if that is more than a first visit. */
  reason: string | undefined;
  onSession: (session: Session) => void;
}

/** The form. */
export function SignIn({ reason, onSession }: SignInProps) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(reason);
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Corral";
  }, []);
  const submit = async () => {
    setAsking(true);
    const attempt = await begin(token.trim());
    setAsking(false);
    if (attempt.session !== undefined) {
      onSession(attempt.session);
    } else {
      setProblem(attempt.reason ?? "This token is not valid, or it has been used.");
      setToken("");
    }
  };
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Logo />
        <h1>Sign in</h1>
        {problem !== undefined && (
          <p role="alert" class="answer bad">
            {problem}
          </p>
        )}
        <label class="field">
          Token
          <input
            type="password"
            name="token"
            autocomplete="current-password"
            required
            autofocus
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button main" disabled={isAsking || token.trim() === ""}>
          {isAsking ? "Asking…" : "Sign in"}
        </button>
        <p class="note">
          On the machine itself, <code>corral dashboard</code> prints an address that signs in. The token of
          the control API, and the one that only reads, are in the files that the daemon was started with.
        </p>
      </form>
    </main>
  );
}
