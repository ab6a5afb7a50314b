// The meaning of the terms that the page uses, for the explanations beside them.

/** Explanations by term. */
export const TERMS = {
  requests: "Requests that are over, by second. Those of the daemon's own control API do not count.",
  errors:
    "The share of requests that were answered with a status of 500 or above: the server's fault, not " +
    "the client's.",
  latency:
    "How long requests take, from their first byte to the last one of the reply. Half of them were " +
    "faster than p50, and 99 of 100 were faster than p99. Read from counts by ranges, so that it is " +
    "an estimate.",
  busy: "Processes of applications that have a request at the moment, of all that run.",
  queue: "Requests that wait until a process of their application, or a server of their upstream, is free.",
  connections: "Connections of clients that are open, with and without a request.",
  memory:
    "Memory of the daemon and its applications. A page that processes share counts once for each of them.",
  cpu: "How many processors the daemon and its applications use: 100 % is one of them, busy all the time.",
  applicationState:
    "Whether processes of the application can be started, and whether some of them have ended by themselves.",
  applicationMemory: "Memory that the application's processes have for themselves.",
  crashes: "Processes that have ended by themselves or by a signal, since the daemon was started.",
  processes: "Processes that accept requests, and of these the ones that have one at the moment.",
  leftState:
    "Requests that left something behind in their process, which the next request would have found: " +
    "settings, globals, open transactions. The state guard cleans up and counts.",
  workerState:
    "Idle: waits for a request. Busy: has one. Starting: loads the application. Leaving: takes " +
    "nothing new, and ends after its requests.",
  workerMemory:
    "PSS: memory of the process, where a shared page counts in parts. RSS, if only that is known, " +
    "counts it in full.",
  age: "How long ago the process was started.",
  current: "The request that the process runs now, and for how long. Identifiers in its path are left out.",
  sent: "Bytes of response bodies that clients got, by second.",
  step: "The place of a step of a route in the configuration. A request counts at the last step on its way.",
  maintenance:
    "While a step is closed for maintenance, its requests are answered with 503 in place of the " +
    "application's reply.",
  serverState:
    "Up: gets requests. Avoided: failed some, and gets requests only if there is no other. Down: " +
    "health checks fail.",
  waiting: "Requests that wait until a server has room for them.",
  certificateState:
    "Valid: clients get the certificate. Ordering and waiting: there is none yet. Failed: the last " +
    "order failed. Expired: it was not renewed in time.",
  renewal: "When the daemon renews the certificate by itself.",
  challenge: "How the authority checks that the name is yours.",
  limit: "Requests that a limit for clients let through, held up for a moment, or refused.",
  mirror: "Copies of requests for another server. Their answers are thrown away.",
  total: "Since the daemon was started.",
  slow:
    "The last requests that took long. Variable parts of paths are replaced, so that like requests " +
    "look alike.",
  whereTime:
    "Where the time went: waiting for a process, in the process, waiting for a server behind this " +
    "one, and sending to the client.",
  generation: "Each change of the configuration gets a number. The last hundred are kept.",
} as const;

/** A term that has an explanation. */
export type TermName = keyof typeof TERMS;
