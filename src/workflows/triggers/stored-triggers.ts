import { z } from "zod";
import type { Trigger } from "../definition/definition.ts";
import { triggerKey } from "../definition/trigger-key.ts";

/** A trigger that starts its workflow by itself. */
export type StartingTrigger = Exclude<Trigger, { readonly kind: "webhook" }>;

export interface KeyedTrigger<Kind extends StartingTrigger = StartingTrigger> {
  /** `triggerKey` of the trigger. */
  readonly key: string;
  readonly trigger: Kind;
}

/** What `pathGlob` takes. */
const MAX_GLOB = 1_000;

/** One event may be written without its list. */
const events = <const Name extends string>(names: readonly [Name, ...Name[]]) =>
  z.preprocess(
    (given) => (typeof given === "string" ? [given] : given),
    z.array(z.enum(names)).default([names[0]]),
  );

const started = { coalesce: z.boolean().default(false), allow_loop: z.boolean().default(false) };

/** What a stored trigger holds. It was checked when it was saved; here only what was left out is filled in. */
const stored = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("schedule"),
    cron: z.string().optional(),
    every: z.string().optional(),
    timezone: z.string().default("UTC"),
    ...started,
  }),
  z.object({
    kind: z.literal("file"),
    path: z.string().max(MAX_GLOB),
    folder: z.string().optional(),
    on: events(["uploaded", "deleted"]),
    ...started,
  }),
  z.object({ kind: z.literal("knowledge"), vector_store: z.string(), ...started }),
  z.object({
    kind: z.literal("workflow"),
    workflow: z.string(),
    on: events(["completed", "failed"]),
    ...started,
  }),
  z.object({ kind: z.literal("dataset"), dataset: z.string(), ...started }),
]);

/**
 * Reads the triggers of a definition as it is stored, without webhooks. One that only another release knows is skipped.
 * Equal triggers are one.
 */
export function readTriggers(triggers: unknown): readonly KeyedTrigger[] {
  const byKey = new Map<string, StartingTrigger>();
  for (const value of Array.isArray(triggers) ? triggers : []) {
    const { success, data } = stored.safeParse(value);
    if (success) byKey.set(triggerKey(data), data);
  }
  return [...byKey].map(([key, trigger]) => ({ key, trigger }));
}
