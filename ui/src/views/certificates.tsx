// Certificates: those that the daemon orders by itself, and those that were uploaded.

import { useEffect, useState } from "preact/hooks";
import { ActionButton } from "../actions/button.tsx";
import { renew } from "../actions/certificate.ts";
import { ask } from "../api.ts";
import { count, day, parsed, relative } from "../format.ts";
import type { Json } from "../live/patch.ts";
import type { Certificate } from "../live/state.ts";
import { useLive } from "../live/store.ts";
import { Pill, type Tone } from "../parts/pill.tsx";
import { Heading, Remark, Section } from "../parts/section.tsx";
import { type Column, Table } from "../parts/table.tsx";

interface CertificateRow {
  name: string;
  certificate: Certificate;
  now: number;
}

const TONES: Record<string, Tone> = {
  valid: "good",
  ordering: "calm",
  waiting: "calm",
  failed: "bad",
  expired: "bad",
};

const when = (time: string | undefined, now: number): string => {
  const seconds = parsed(time);
  return seconds === undefined ? (time ?? "–") : `${day(seconds)}, ${relative(seconds, now)}`;
};

const COLUMNS: Column<CertificateRow>[] = [
  {
    key: "name",
    label: "Name",
    size: "name",
    priority: 1,
    cell: ({ name }) => <span title={name}>{name}</span>,
    order: ({ name }) => name,
  },
  {
    key: "state",
    label: "State",
    term: "certificateState",
    size: "small",
    priority: 1,
    cell: ({ certificate }) => <Pill tone={TONES[certificate.state] ?? "calm"} word={certificate.state} />,
    order: ({ certificate }) => certificate.state,
  },
  {
    key: "expires",
    label: "Expires",
    size: "text",
    priority: 2,
    cell: ({ certificate, now }) => when(certificate.expires, now),
    order: ({ certificate }) => parsed(certificate.expires) ?? 0,
  },
  {
    key: "renews",
    label: "Renewed",
    term: "renewal",
    size: "text",
    priority: 3,
    cell: ({ certificate, now }) => when(certificate.next_try ?? certificate.renews_at, now),
    order: ({ certificate }) => parsed(certificate.next_try ?? certificate.renews_at) ?? 0,
  },
  {
    key: "issuer",
    label: "Issuer",
    size: "text",
    priority: 3,
    cell: ({ certificate }) => <span title={certificate.issuer}>{certificate.issuer ?? "–"}</span>,
  },
  {
    key: "challenge",
    label: "Proof",
    term: "challenge",
    size: "small",
    priority: 3,
    cell: ({ certificate }) => certificate.challenge ?? "–",
  },
  {
    key: "actions",
    label: "Actions",
    size: "actions",
    priority: 1,
    cell: ({ name }) => (
      <ActionButton kind="process" look="small" about={name} action={() => renew(name)}>
        Renew
      </ActionButton>
    ),
  },
];

interface BundleRow {
  name: string;
  subject: string;
  names: string;
  until: string;
  now: number;
}

type Members = { [name: string]: Json };

const members = (value: Json | undefined): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");

function bundleRow(name: string, bundle: Json | undefined, now: number): BundleRow {
  const { chain } = members(bundle);
  const leaf = members(Array.isArray(chain) ? chain[0] : undefined);
  const subject = members(leaf.subject);
  const names = Array.isArray(subject.alt_names) ? subject.alt_names.map(text).join(", ") : "";
  return {
    name,
    subject: text(subject.common_name) || "–",
    names: names || "–",
    until: text(members(leaf.validity).until),
    now,
  };
}

const BUNDLES: Column<BundleRow>[] = [
  {
    key: "name",
    label: "Name",
    size: "text",
    priority: 1,
    cell: (row) => <span title={row.name}>{row.name}</span>,
    order: (row) => row.name,
  },
  {
    key: "subject",
    label: "Subject",
    size: "text",
    priority: 3,
    cell: (row) => <span title={row.subject}>{row.subject}</span>,
  },
  {
    key: "names",
    label: "For the names",
    brief: "",
    size: "name",
    priority: 2,
    cell: (row) => <span title={row.names}>{row.names}</span>,
  },
  {
    key: "until",
    label: "Expires",
    size: "text",
    priority: 1,
    cell: (row) => when(row.until, row.now),
    order: (row) => parsed(row.until) ?? 0,
  },
];

/** The bundles, read once when the view is opened, and after each change of the configuration. */
function useBundles(tag: string | undefined): Members {
  const [bundles, setBundles] = useState<Members>({});
  useEffect(() => {
    void ask({ method: "GET", path: "/certificates" }).then(
      (answer) => answer.isDone && setBundles(members(answer.body)),
    );
  }, [tag]);
  return bundles;
}

/** The view. */
export function Certificates() {
  const { state } = useLive();
  const bundles = useBundles(state?.tag);
  if (state === undefined) {
    return null;
  }
  const now = state.time;
  const all = state.status.certificates ?? {};
  const rows = Object.keys(all).map((name): CertificateRow => ({
    name,
    certificate: all[name] as Certificate,
    now,
  }));
  const uploaded = Object.keys(bundles).map((name) => bundleRow(name, bundles[name], now));
  return (
    <>
      <Heading title="Certificates" />
      {rows.map(
        ({ name, certificate }) =>
          certificate.last_error !== undefined && (
            <Remark key={name} tone={certificate.state === "valid" ? "warn" : "bad"}>
              <p>
                <strong>{name}</strong>: {certificate.last_error}
              </p>
              {certificate.next_try !== undefined && (
                <p class="note">It is tried again {when(certificate.next_try, now)}.</p>
              )}
            </Remark>
          ),
      )}
      <Section title="Automatic certificates" note={count(rows.length, "name")}>
        <Table
          label="Automatic certificates"
          columns={COLUMNS}
          rows={rows}
          keyOf={(row) => row.name}
          empty="The daemon orders no certificates: no listener has automatic ones."
        />
      </Section>
      <Section title="Uploaded certificates" note={count(uploaded.length, "bundle")}>
        <Table
          label="Uploaded certificates"
          columns={BUNDLES}
          rows={uploaded}
          keyOf={(row) => row.name}
          empty="None was uploaded."
        />
      </Section>
    </>
  );
}
