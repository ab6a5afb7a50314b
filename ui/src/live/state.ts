// The state of the daemon as the stream sends it, as far as the page reads it.
//
// A merge patch removes members that are null, so that everything which may be null is optional here.

/** Objects by names of the configuration. */
export type ByName<Value> = Record<string, Value>;

/** The whole state. */
export interface State {
  /** Seconds since 1970. */
  time: number;
  version: string;
  /** The number in the history of the configuration in force. */
  generation?: number;
  /** The entity tag of the configuration in force. */
  tag?: string;
  newest_change?: Change;
  status: Status;
  traffic?: Traffic;
  /** Bytes, and seconds of a processor since the start. */
  processes?: { memory?: number; cpu?: number };
  attention?: Attention[];
  slow?: SlowRequest[];
  past?: Sample[];
  workers?: { application: string; list: ByName<Worker> };
}

/** One change of the configuration. */
export interface Change {
  id: number;
  /** As RFC 3339 has it. */
  time: string;
  author: string;
  comment?: string;
  /** JSON pointers. */
  changed?: string[];
  tag?: string;
  in_force?: boolean;
  bytes?: number;
}

/** The document of `/status`. */
export interface Status {
  connections: { accepted: number; active: number; idle: number; closed: number; refused?: number };
  requests: { total: number };
  applications: ByName<Application>;
  listeners?: ByName<{ state: string; last_error?: string }>;
  config?: { files?: string; changes?: number; last_error?: string };
  upstreams?: ByName<{ servers: ByName<Server>; waiting?: number }>;
  limits?: ByName<Limit>;
  mirrors?: ByName<{ answered: number; failed: number; dropped: number }>;
  certificates?: ByName<Certificate>;
  daemon: { version: string; pid: number; uptime: number; log?: string; last_error?: string };
}

/** An application within `/status`. */
export interface Application {
  processes: { running: number; starting: number; idle: number };
  requests: {
    active: number;
    /** Requests that wait for a process, if there are any. */
    waiting?: number;
    total?: number;
    failed?: number;
    left_state?: { total: number; kinds: ByName<number> };
  };
  memory?: number;
  last_error?: string;
  crashes?: { total: number; last: string };
  warning?: string;
  schedule?: Schedule;
  queue?: { wanted: number; length?: number; last_error?: string };
}

/** The runs of a command that has a schedule. */
export interface Schedule {
  next?: string;
  last?: Run;
  runs: { total: number; failed: number };
  skipped: number;
  waiting: number;
}

/** One run of a command. */
export interface Run {
  began: string;
  duration_ms: number;
  exit_code?: number;
  signal?: number;
  timed_out?: boolean;
  error?: string;
  output: string[];
}

/** A server of an upstream. */
export interface Server {
  state: string;
  requests: { active: number; total: number; failed: number };
}

/** A limit for clients; one that is only tried has the second pair. */
export interface Limit {
  passed: number;
  delayed?: number;
  refused?: number;
  would_delay?: number;
  would_refuse?: number;
  keys: number;
}

/** An automatic certificate. */
export interface Certificate {
  state: string;
  expires?: string;
  issuer?: string;
  renews_at?: string;
  next_try?: string;
  last_error?: string;
  challenge?: string;
}

/** Counts of requests by status class, such as `2xx`. */
export type Classes = ByName<number>;

/** The counts of an address. */
export interface Listener {
  /** By protocol. */
  requests: ByName<Classes>;
  durations: number[];
  duration_sum: number;
  sent: number;
}

/** Counts since the start. */
export interface Traffic {
  /** Upper bounds of durations in seconds. */
  bounds: number[];
  listeners: ByName<Listener>;
  steps: ByName<{ requests: Classes }>;
  applications: ByName<{ requests: Classes; durations: number[]; duration_sum: number }>;
}

/** Something that a person should look at. */
export interface Attention {
  severity: string;
  subject: string;
  text: string;
  next: string;
  /** A path of this page. */
  view?: string;
}

/** A request that took long; times in seconds. */
export interface SlowRequest {
  time: number;
  method: string;
  path: string;
  listener?: string | null;
  application?: string | null;
  step?: string | null;
  status: number;
  duration: number;
  queue?: number | null;
  worker?: number | null;
  upstream?: number | null;
  client?: number | null;
}

/** The figures of one second. */
export interface Sample {
  time: number;
  /** A second. */
  requests: number;
  /** The share of requests that failed, 0 to 1. */
  errors: number;
  /** Seconds. */
  p50: number | null;
  p99: number | null;
  busy: number;
  queue: number;
  connections: number;
  /** Bytes; nothing where the system hides them. */
  memory: number | null;
  /** Processors in use. */
  cpu: number | null;
}

/** A process of an application. */
export interface Worker {
  state: string;
  /** Seconds since 1970. */
  started?: number;
  requests?: number;
  memory?: { rss?: number; pss?: number };
  /** Seconds of a processor. */
  cpu?: number;
  in_progress?: number;
  request?: { method?: string; path?: string; seconds?: number; backtrace?: Backtrace };
}

/** Where a request was when it had run for so many seconds: its calls, the innermost first. */
export interface Backtrace {
  calls: string[];
  seconds?: number;
}

/** A line of the log. */
export interface LogLine {
  time: string;
  level: string;
  text: string;
}
