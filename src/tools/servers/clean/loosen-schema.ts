import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";

/**
 * What a keyword that has lost something takes with it. Values pass more of `not`, `if` and `contains` than before, and
 * would be refused for that; names that patterns allowed would be additional ones.
 */
const DROPPED_WITH: Readonly<Record<string, readonly string[]>> = {
  not: ["not"],
  if: ["if", "then", "else"],
  contains: ["maxContains"],
  patternProperties: ["additionalProperties"],
};
/** What decides which properties and items count as evaluated, beside the plain lists of them. */
const EVALUATING: readonly string[] = [
  ...["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"],
  ...["patternProperties", "dependencies", "$ref", "$dynamicRef", "$recursiveRef"],
];
const UNEVALUATED: readonly string[] = ["unevaluatedProperties", "unevaluatedItems"];
/** Where `true` allows everything, and stays. */
const OF_THE_REST: ReadonlySet<string> = new Set(["additionalProperties", ...UNEVALUATED]);

/**
 * Returns a cleaned schema that accepts whatever the given one accepted. `lost` are the keywords, also those that are not
 * in the cleaned schema, that check less than they did.
 */
export function loosenSchema(cleaned: JsonObject, lost: ReadonlySet<string>): JsonObject {
  if (lost.size === 0) return cleaned;
  const dropped = new Set([...lost].flatMap((keyword) => DROPPED_WITH[keyword] ?? []));
  if (EVALUATING.some((keyword) => lost.has(keyword))) {
    for (const keyword of UNEVALUATED) dropped.add(keyword);
  }
  const isKept = ([keyword, value]: readonly [string, JsonValue | undefined]) =>
    !dropped.has(keyword) || (OF_THE_REST.has(keyword) && value === true);
  const kept: JsonObject = Object.fromEntries(Object.entries(cleaned).filter(isKept));
  return lost.has("oneOf") ? withoutOneOf(kept) : kept;
}

/** More than one alternative may fit once one of them has lost something. */
function withoutOneOf({ oneOf, ...rest }: JsonObject): JsonObject {
  if (oneOf === undefined) return rest;
  if (rest["anyOf"] === undefined) return { ...rest, anyOf: oneOf };
  const all = Array.isArray(rest["allOf"]) ? rest["allOf"] : [];
  return { ...rest, allOf: [...all, { anyOf: oneOf }] };
}
