import type { JsonObject } from "../lib/json/json.ts";

/** Of the arguments for one call of a tool server. */
export const MAX_SERVER_BYTES = 256 * 1024;
const MAX_VALUES = 10_000;
/** How often a value may be compared with a part of the schema. */
const MAX_COMPARISONS = 1_000_000;

/**
 * Says what is too large about the arguments for a tool server; undefined when they may be checked. `weight` is that of
 * the schema. It stops at the first limit, so that large arguments cost no more than small ones.
 */
export function findExcess(args: JsonObject, weight: number): string | undefined {
  const open: unknown[] = [args];
  let bytes = 0;
  let values = 0;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    values += 1;
    bytes += bytesOf(value);
    const items = typeof value === "object" && value !== null ? Object.values(value) : [];
    if (values + open.length + items.length > MAX_VALUES) {
      return `the arguments hold more than ${MAX_VALUES} values; use fewer`;
    }
    if (bytes > MAX_SERVER_BYTES) return "the arguments are too long";
    for (const item of items) open.push(item ?? null);
  }
  return values * weight > MAX_COMPARISONS
    ? `the arguments hold ${values} values, which is too many for its schema; use fewer`
    : undefined;
}

/** About the bytes of a value itself as JSON, without those of the values that it holds. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value) + 2;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return 4;
  return Object.keys(value).reduce((sum, name) => sum + Buffer.byteLength(name) + 4, 4);
}
