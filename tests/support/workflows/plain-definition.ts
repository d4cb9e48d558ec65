import type { JsonObject } from "../../../src/lib/json/json.ts";
import type {
  Definition,
  OnRowError,
  Step,
  Trigger,
} from "../../../src/workflows/definition/definition.ts";

/** The fields that every step may have; all others are its kind's own. */
const COMMON = new Set([
  ...["id", "kind", "from", "run_on_empty", "retries", "timeout_seconds", "on_row_error"],
]);

/**
 * Reads a stored definition without the kinds of its steps, for tests whose steps are of none. Only what may be absent
 * is filled in.
 */
export function readPlainDefinition(stored: JsonObject): Definition {
  const steps = listOf(stored["steps"]);
  return {
    triggers: listOf(stored["triggers"]) as unknown as readonly Trigger[],
    steps: steps.map((step, index) => toStep(step, steps[index - 1])),
  };
}

function toStep(step: JsonObject, above: JsonObject | undefined): Step {
  const { id, kind, from, run_on_empty, retries, timeout_seconds, on_row_error } = step;
  const settings = Object.entries(step).filter(([name]) => !COMMON.has(name));
  return {
    id: String(id),
    kind: String(kind),
    from: sourcesOf(from) ?? (above === undefined ? [] : [String(above["id"])]),
    run_on_empty: run_on_empty === true,
    retries: typeof retries === "number" ? retries : 2,
    ...(typeof timeout_seconds === "number" && { timeout_seconds }),
    on_row_error: typeof on_row_error === "string" ? (on_row_error as OnRowError) : "fail",
    settings: Object.fromEntries(settings),
  };
}

/** One source may be written without its list. */
function sourcesOf(from: unknown): readonly string[] | undefined {
  if (typeof from === "string") return [from];
  return Array.isArray(from) ? from.map(String) : undefined;
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonObject[]) : [];
}
