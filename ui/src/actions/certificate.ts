// Orders an automatic certificate anew.

import { apiPath } from "../config/pointer.ts";
import type { Action } from "./action.ts";

/** An order at once. */
export const renew = (name: string): Action => ({
  kind: "process",
  title: `Renew the certificate of ${name}?`,
  happens: [
    "The daemon orders a new certificate now. The old one is used until the new one is there, and if the order fails.",
    "Authorities limit how many certificates they issue for a name in a week.",
  ],
  verb: "Renew",
  calls: [{ method: "POST", path: apiPath("/control/certificates", [name, "renew"]) }],
});
