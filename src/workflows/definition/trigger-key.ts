import { createHash } from "node:crypto";
import type { JsonValue } from "../../lib/json/json.ts";
import type { Trigger } from "./definition.ts";

const DIGITS = 16;
/** A workflow has one webhook at most, and its address stays when its credential changes. */
const WEBHOOK_KEY = "webhook";

/**
 * Returns the key of a trigger whose defaults are filled in: `schedule:` and a hash. It stays the same while the
 * trigger does, wherever it stands in the list.
 */
export function triggerKey(trigger: Trigger): string {
  if (trigger.kind === "webhook") return WEBHOOK_KEY;
  const hash = createHash("sha256").update(canonicalText({ ...trigger }));
  return `${trigger.kind}:${hash.digest("hex").slice(0, DIGITS)}`;
}

/** JSON with the names of objects in order, so that equal values have equal texts. */
function canonicalText(value: JsonValue | undefined): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    const entries = Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(entries);
  });
}
