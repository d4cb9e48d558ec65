import type { Log } from "../lib/log.ts";
import type { LicenseState } from "./license-state.ts";

/** Makes what writes the license into the log, at first and then whenever more than the days left has changed. */
export function reportChanges(log: Log, state: () => LicenseState): () => void {
  let last = "";
  return () => {
    const license = state();
    const { days_left: _daily, ...told } = license;
    const text = JSON.stringify(told);
    if (text === last) return;
    last = text;
    if (license.warning === null) log.info({ license }, "license");
    else log.warn({ license }, "license");
  };
}
