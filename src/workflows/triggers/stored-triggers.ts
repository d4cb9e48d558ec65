import type { Trigger } from "../definition/definition.ts";
import { parseTriggers } from "../definition/parse-triggers.ts";
import { triggerKey } from "../definition/trigger-key.ts";

/** A trigger that starts its workflow by itself. */
export type StartingTrigger = Exclude<Trigger, { readonly kind: "webhook" }>;

export interface KeyedTrigger<Kind extends StartingTrigger = StartingTrigger> {
  /** `triggerKey` of the trigger. */
  readonly key: string;
  readonly trigger: Kind;
}

/**
 * Reads the triggers of a definition as it is stored, without webhooks. One that only another release knows is skipped.
 * Equal triggers are one.
 */
export function readTriggers(triggers: unknown): readonly KeyedTrigger[] {
  return parseTriggers(triggers).triggers.flatMap(({ trigger }) =>
    trigger.kind === "webhook" ? [] : [{ key: triggerKey(trigger), trigger }],
  );
}
