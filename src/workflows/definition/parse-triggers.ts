import { z } from "zod";
import { isJsonObject } from "../../lib/json/json.ts";
import { type Fault, MAX_TRIGGERS, type Trigger } from "./definition.ts";
import { readFields, unknownName } from "./describe-faults.ts";
import { triggerKey } from "./trigger-key.ts";

/** As `queue/path-glob.ts` takes them. */
const MAX_PATH = 1_000;
const MAX_NAME = 200;

const name = z.string().min(1).max(MAX_NAME);
const started = { coalesce: z.boolean().default(false), allow_loop: z.boolean().default(false) };
/** One event may be written without its list. */
const events = <const Name extends string>(names: readonly [Name, ...Name[]]) =>
  z.preprocess(
    (given) => (typeof given === "string" ? [given] : given),
    z
      .array(z.enum(names))
      .min(1)
      .max(names.length)
      .default([names[0]])
      .refine((given) => new Set(given).size === given.length, "each event once"),
  );

/** The fields of each kind of trigger. */
export const TRIGGER_SCHEMAS = {
  webhook: z.strictObject({
    kind: z.literal("webhook"),
    auth: z.enum(["secret", "url"]).default("secret"),
    allow_loop: started.allow_loop,
  }),
  schedule: z
    .strictObject({
      kind: z.literal("schedule"),
      cron: name.optional(),
      every: name.optional(),
      timezone: name.default("UTC"),
      ...started,
    })
    .refine(({ cron, every }) => (cron === undefined) !== (every === undefined), {
      path: ["cron"],
      message: "Give either 'cron', as in '0 6 * * 1', or 'every', as in '30s'.",
    }),
  file: z.strictObject({
    kind: z.literal("file"),
    path: z.string().min(1).max(MAX_PATH),
    folder: name.optional(),
    on: events(["uploaded", "deleted"]),
    ...started,
  }),
  knowledge: z.strictObject({ kind: z.literal("knowledge"), vector_store: name, ...started }),
  workflow: z.strictObject({
    kind: z.literal("workflow"),
    workflow: name,
    on: events(["completed", "failed"]),
    ...started,
  }),
  dataset: z.strictObject({ kind: z.literal("dataset"), dataset: name, ...started }),
} satisfies Record<Trigger["kind"], z.ZodType<Trigger>>;

type TriggerKind = keyof typeof TRIGGER_SCHEMAS;
const KINDS = Object.keys(TRIGGER_SCHEMAS) as readonly TriggerKind[];

/** A trigger that was read, with its place in the list that was sent. */
export interface PlacedTrigger {
  readonly at: number;
  readonly trigger: Trigger;
}

/** Reads the triggers of a definition, as far as they are valid, and lists what is wrong with the others. */
export function parseTriggers(given: unknown): {
  readonly triggers: readonly PlacedTrigger[];
  readonly faults: readonly Fault[];
} {
  if (given === undefined) return { triggers: [], faults: [] };
  if (!Array.isArray(given)) {
    return { triggers: [], faults: [outside("triggers", "Expected a list of triggers.")] };
  }
  const faults: Fault[] = [];
  if (given.length > MAX_TRIGGERS) {
    const message = `There are ${given.length} triggers; a workflow has at most ${MAX_TRIGGERS}. Leave some out.`;
    faults.push(outside("triggers", message));
  }
  const triggers: PlacedTrigger[] = [];
  const places = new Map<string, number>();
  for (const [at, value] of given.slice(0, MAX_TRIGGERS).entries()) {
    const read = readTrigger(value);
    if ("faults" in read) {
      faults.push(...read.faults.map((fault) => outside(placeOf(at, fault.field), fault.message)));
      continue;
    }
    const trigger = read.fields;
    const key = triggerKey(trigger);
    const earlier = places.get(key);
    places.set(key, earlier ?? at);
    if (earlier === undefined) triggers.push({ at, trigger });
    else faults.push(outside(placeOf(at), repeated(trigger, earlier)));
  }
  return { triggers, faults };
}

function readTrigger(value: unknown): ReturnType<typeof readFields<Trigger>> {
  if (!isJsonObject(value)) {
    return { faults: [{ field: "", message: "Expected an object with a 'kind'." }] };
  }
  const { kind } = value;
  if (typeof kind !== "string" || !Object.hasOwn(TRIGGER_SCHEMAS, kind)) {
    return {
      faults: [{ field: "kind", message: unknownName("kind of trigger", String(kind), KINDS) }],
    };
  }
  return readFields<Trigger>(TRIGGER_SCHEMAS[kind as TriggerKind], value);
}

function repeated({ kind }: Trigger, earlier: number): string {
  return kind === "webhook"
    ? `triggers[${earlier}] is a webhook already, and a workflow has one. Leave this one out.`
    : `This is the same trigger as triggers[${earlier}]. Leave it out.`;
}

/** @param field of the trigger; unset: the trigger itself. */
export function placeOf(at: number, field = ""): string {
  return field === "" ? `triggers[${at}]` : `triggers[${at}].${field}`;
}

/** A fault that belongs to no step. */
export function outside(field: string, message: string): Fault {
  return { step: null, field, message };
}
