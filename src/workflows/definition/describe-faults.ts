import { z } from "zod";
import { formatPath, listFaults, type ValueFault } from "../../lib/json/value-faults.ts";
import { nearestName } from "../../lib/text/nearest-name.ts";
import type { FieldFault } from "../steps/step-kind.ts";

/**
 * Reads a value by its schema. Returns what the schema made of it, or everything that is wrong with it: what was
 * expected, what was received, and the field that a misspelt one probably is.
 *
 * @param more names of further fields that the user may have meant.
 */
export function readFields<Output>(
  schema: z.ZodType<Output>,
  value: unknown,
  more: readonly string[] = [],
): { readonly fields: Output } | { readonly faults: readonly FieldFault[] } {
  const { success, data, error } = schema.safeParse(value);
  if (success) return { fields: data };
  const known = [...fieldNames(schema), ...more];
  return {
    faults: listFaults(error, value).map((fault) => ({
      field: formatPath(fault.path),
      message: describeFault(fault, known),
    })),
  };
}

function describeFault({ path, expected, received }: ValueFault, known: readonly string[]): string {
  if (expected === null) {
    const name = String(path.at(-1));
    // Only the outermost fields are known by their names.
    return path.length === 1
      ? unknownName("field", name, known)
      : `There is no field '${name}' here. Leave it out.`;
  }
  // A check of several fields explains itself.
  if (/^[A-Z].*\.$/s.test(expected)) return expected;
  return `Expected ${expected}, received ${received}. Change it.`;
}

/** Says that a name is unknown, and which one is meant, or which ones there are. */
export function unknownName(what: string, name: string, known: readonly string[]): string {
  const shown = name.slice(0, 40);
  const nearest = nearestName(name, known);
  if (nearest !== undefined) {
    return `There is no ${what} '${shown}'. Did you mean '${nearest}'?`;
  }
  const names = known.map((one) => `'${one}'`).join(", ");
  return known.length === 0
    ? `There is no ${what} '${shown}'. Leave it out.`
    : `There is no ${what} '${shown}'. Use one of ${names}.`;
}

/** Returns the names of the fields that an object schema defines; of a union those of all its objects. */
function fieldNames(schema: z.core.$ZodType): readonly string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (schema instanceof z.ZodUnion) {
    return [...new Set(schema.options.flatMap((option) => fieldNames(option)))];
  }
  if (schema instanceof z.ZodPipe) return fieldNames(schema.in);
  return [];
}
