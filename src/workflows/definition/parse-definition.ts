import { isJsonObject } from "../../lib/json/json.ts";
import { formatPath } from "../../lib/json/value-faults.ts";
import { isStorableText } from "../../lib/text/storable-text.ts";
import type { StepKinds } from "../steps/registry.ts";
import { connectSteps } from "./connect-steps.ts";
import { type Definition, type Fault, MAX_DEFINITION_BYTES } from "./definition.ts";
import { parseSteps } from "./parse-steps.ts";
import { outside, type PlacedTrigger, parseTriggers } from "./parse-triggers.ts";

export interface ParsedDefinition {
  /** The triggers and steps that are valid; all of them when there is no fault. */
  readonly definition: Definition;
  /** The triggers with their places in the list that was sent. */
  readonly triggers: readonly PlacedTrigger[];
  /** Everything that is wrong, those of the triggers first, then in the order of the steps. */
  readonly faults: readonly Fault[];
}

/**
 * Reads what is to be saved, as `parseDefinition` does. Its size is that of what was sent, and of what is stored: the
 * triggers with their defaults.
 */
export function parseDraft(
  draft: { readonly triggers: unknown; readonly steps: unknown },
  kinds: StepKinds,
): ParsedDefinition {
  const tooLarge = sizeFault(draft);
  if (tooLarge !== undefined) {
    return { definition: { triggers: [], steps: [] }, triggers: [], faults: [tooLarge] };
  }
  const parsed = parseDefinition(draft, kinds);
  const { triggers } = parsed.definition;
  const tooLargeStored = sizeFault({ triggers, steps: draft.steps });
  if (tooLargeStored === undefined) return parsed;
  return { ...parsed, faults: [tooLargeStored, ...parsed.faults] };
}

function sizeFault(given: { readonly triggers: unknown; readonly steps: unknown }) {
  const size = Buffer.byteLength(JSON.stringify([given.triggers ?? [], given.steps ?? []]));
  if (size <= MAX_DEFINITION_BYTES) return undefined;
  return outside(
    "steps",
    `Triggers and steps have ${size} bytes of JSON; at most ${MAX_DEFINITION_BYTES} fit. Keep data in datasets or files instead.`,
  );
}

/**
 * Reads the `triggers` and `steps` of a workflow, with what was left out filled in. It needs neither the database nor a
 * row process: `checkDefinition` looks at expressions and at what the fields name.
 */
export function parseDefinition(json: unknown, kinds: StepKinds): ParsedDefinition {
  const none: Definition = { triggers: [], steps: [] };
  if (!isJsonObject(json)) {
    const fault = outside("steps", "Expected an object with 'triggers' and 'steps'.");
    return { definition: none, triggers: [], faults: [fault] };
  }
  const { triggers: givenTriggers, steps: givenSteps } = json;
  const unstorable = findUnstorable({ triggers: givenTriggers, steps: givenSteps }, []);
  if (unstorable !== undefined) {
    const message = "This text has U+0000 or half of a surrogate pair. Take it out.";
    return {
      definition: none,
      triggers: [],
      faults: [outside(formatPath(unstorable), message)],
    };
  }
  const triggers = parseTriggers(givenTriggers);
  const parsed = parseSteps(givenSteps, kinds);
  const connected = connectSteps(parsed.steps);
  const order = new Map(parsed.steps.map(({ name, at }) => [name, at]));
  return {
    definition: {
      triggers: triggers.triggers.map(({ trigger }) => trigger),
      steps: connected.steps,
    },
    triggers: triggers.triggers,
    faults: sortFaults([...triggers.faults, ...parsed.faults, ...connected.faults], order),
  };
}

/** Puts faults outside the steps first, the others in the order of the steps; otherwise they keep their order. */
export function sortFaults(
  faults: readonly Fault[],
  order: ReadonlyMap<string, number>,
): readonly Fault[] {
  const placeOf = ({ step }: Fault) =>
    step === null ? -1 : (order.get(step) ?? Number(/\d+/.exec(step)?.[0] ?? 0));
  return faults.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** Returns the path of the first text, or name of a field, that the database cannot store. */
function findUnstorable(
  value: unknown,
  path: readonly PropertyKey[],
): readonly PropertyKey[] | undefined {
  if (typeof value === "string") return isStorableText(value) ? undefined : path;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, part] of Object.entries(value)) {
    if (!isStorableText(name)) return path;
    const found = findUnstorable(part, [...path, Array.isArray(value) ? Number(name) : name]);
    if (found !== undefined) return found;
  }
  return undefined;
}
