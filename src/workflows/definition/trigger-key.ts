import { createHash } from "node:crypto";
import type { Trigger } from "./definition.ts";

const DIGITS = 16;

/** Names a trigger by its content: `schedule:` and 16 hexadecimal digits. It stays the same while the trigger does. */
export function triggerKey(trigger: Trigger): string {
  const digest = createHash("sha256").update(canonicalJson(trigger)).digest("hex");
  return `${trigger.kind}:${digest.slice(0, DIGITS)}`;
}

/** JSON with the keys of objects in order, so that the order in which they were sent does not matter. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
