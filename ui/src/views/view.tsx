// The views by their names in the page's address.

import { useLive } from "../live/store.ts";
import { Heading, Nothing } from "../parts/section.tsx";
import type { Route } from "../route.ts";
import { Application } from "./application.tsx";
import { Applications } from "./applications.tsx";
import { Certificates } from "./certificates.tsx";
import { Configuration } from "./configuration.tsx";
import { Listeners } from "./listeners.tsx";
import { Log } from "./log.tsx";
import { Overview } from "./overview.tsx";
import { Slow } from "./slow.tsx";
import { Upstreams } from "./upstreams.tsx";

/** The views that the navigation leads to. */
export const VIEWS: { view: string; label: string }[] = [
  { view: "overview", label: "Overview" },
  { view: "applications", label: "Applications" },
  { view: "listeners", label: "Listeners and routes" },
  { view: "upstreams", label: "Upstreams" },
  { view: "certificates", label: "Certificates" },
  { view: "configuration", label: "Configuration" },
  { view: "log", label: "Log" },
  { view: "slow", label: "Slow requests" },
];

interface ViewProps {
  route: Route;
  /** The level of the log. */
  level: string;
  setLevel: (level: string) => void;
}

/** The view of a route, once there is a state to show. */
export function View({ route, level, setLevel }: ViewProps) {
  const { state } = useLive();
  if (state === undefined) {
    return <Nothing>Waiting for the daemon…</Nothing>;
  }
  const { view, name } = route;
  switch (view) {
    case "overview":
      return <Overview />;
    case "applications":
      return name === undefined ? <Applications /> : <Application key={name} name={name} />;
    case "listeners":
    case "routes":
      return <Listeners />;
    case "upstreams":
      return <Upstreams />;
    case "certificates":
      return <Certificates />;
    case "configuration":
      return <Configuration key={name} name={name} />;
    case "history":
      return <Configuration key={view} name={view} />;
    case "log":
      return <Log level={level} setLevel={setLevel} />;
    case "slow":
      return <Slow />;
    default:
      return (
        <>
          <Heading title="Nothing here" />
          <Nothing>The page has no view of this name.</Nothing>
        </>
      );
  }
}
