import * as z from "zod";
import type { AttributeFilter } from "../../core/file-search.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import { isStorableText } from "../../lib/text/storable-text.ts";
import { checkRequest, invalidValue } from "./check-request.ts";

type Path = readonly PropertyKey[];

/** Filters within `filters`, in all: each is compared with the attributes of every file. */
export const MAX_FILTERS = 100;
const MAX_DEPTH = 8;
/** Values of one `in` or `nin`, and of all of them. */
const MAX_VALUES = 100;
const MAX_VALUES_IN_ALL = 1_000;
const MAX_KEY_LENGTH = 64;
const MAX_TEXT_LENGTH = 512;

const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength, `at most ${maxLength} characters`)
    .refine(isStorableText, "a text without NUL and lone surrogates");
const value = text(MAX_TEXT_LENGTH);
const key = text(MAX_KEY_LENGTH).min(1);

const attributeFilter: z.ZodType<AttributeFilter> = z.lazy(() =>
  z.discriminatedUnion("type", [
    z.strictObject({
      type: z.enum(["eq", "ne", "gt", "gte", "lt", "lte"]),
      key,
      value: z.union([value, z.number(), z.boolean()]),
    }),
    z.strictObject({
      type: z.enum(["in", "nin"]),
      key,
      value: z.array(z.union([value, z.number()])),
    }),
    z.strictObject({ type: z.enum(["and", "or"]), filters: z.array(attributeFilter) }),
  ]),
);

/**
 * Parses OpenAI's filter of files by their attributes; undefined when there is none. Throws `invalid_value` that names
 * the field, and `unsupported_parameter` for a field that a filter does not have.
 *
 * @param at where the filter stands in the body.
 */
export function parseAttributeFilter(given: unknown, at: Path): AttributeFilter | undefined {
  if (given === undefined || given === null) return undefined;
  checkSize(given, at);
  checkRequest(attributeFilter, given, at);
  return given;
}

interface Place {
  readonly part: unknown;
  readonly path: Path;
  readonly depth: number;
}

/**
 * Throws `invalid_value` for a filter that is too large. The schema would make an error of each of its faults, and that
 * of a body of megabytes takes seconds.
 */
function checkSize(given: unknown, at: Path): void {
  const places: Place[] = [{ part: given, path: at, depth: 1 }];
  let filters = 0;
  let values = 0;
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { part, path, depth } = place;
    if (!isJsonObject(part)) continue;
    values += lengthOf(part["value"], [...path, "value"]);
    const inner = Array.isArray(part["filters"]) ? part["filters"] : [];
    filters += inner.length;
    const limit = exceeded({ depth, filters, values });
    if (limit !== undefined) throw invalidValue(at, limit, given);
    for (const [index, each] of inner.entries()) {
      places.push({ part: each, path: [...path, "filters", index], depth: depth + 1 });
    }
  }
}

function exceeded(counted: { depth: number; filters: number; values: number }): string | undefined {
  if (counted.depth > MAX_DEPTH) return `at most ${MAX_DEPTH} levels`;
  if (counted.filters > MAX_FILTERS) return `at most ${MAX_FILTERS} filters in all`;
  if (counted.values > MAX_VALUES_IN_ALL) return `at most ${MAX_VALUES_IN_ALL} values in all lists`;
  return undefined;
}

/** Returns the number of values of a list; 0 for what is none. */
function lengthOf(value: unknown, path: Path): number {
  if (!Array.isArray(value)) return 0;
  if (value.length > MAX_VALUES) throw invalidValue(path, `at most ${MAX_VALUES} values`, value);
  return value.length;
}
