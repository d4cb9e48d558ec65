import type * as z from "zod";

/** What a schema found in a value, in words for the value's author. */

type Issue = z.core.$ZodIssue;
export type Path = readonly PropertyKey[];

const MAX_SHOWN_LENGTH = 40;
/** Fields whose values, and what is in them, are never repeated in an error, not even their beginning. */
const SECRET_FIELD = /password|secret|^headers$/i;

/** One fault of a value, for callers that report all of them. */
export interface ValueFault {
  readonly path: Path;
  /** What the field should hold; null for a field that the schema does not define. */
  readonly expected: string | null;
  /** Describes the value, by at most its beginning. */
  readonly received: string;
}

/** Lists everything that a schema found in a value, in its order. */
export function listFaults({ issues }: z.ZodError, value: unknown): readonly ValueFault[] {
  return issues.flatMap((issue): ValueFault[] => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        path: [...issue.path, shownName(key)],
        expected: null,
        received: "",
      }));
    }
    const { path, expected } = findFault(issue);
    return [{ path, expected, received: describeValue(path, valueAt(value, path)) }];
  });
}

interface Expected {
  readonly path: Path;
  readonly expected: string;
}

/**
 * Selects the alternative of a union that matched the value to the greatest depth, as the one that the client meant.
 */
export function findFault(issue: Issue): Expected {
  if (issue.code !== "invalid_union" || issue.errors.length === 0) {
    return { path: issue.path, expected: expectedBy(issue) };
  }
  const faults = issue.errors.flatMap((issues) => issues.slice(0, 1)).map(findFault);
  const depth = Math.max(...faults.map(({ path }) => path.length));
  const deepest = faults.filter(({ path }) => path.length === depth);
  const [first] = deepest;
  const expected = deepest.map((fault) => fault.expected).join(" or ");
  return { path: [...issue.path, ...(first?.path ?? [])], expected };
}

function expectedBy(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "nonoptional" ? "a value" : withArticle(issue.expected);
    case "invalid_value":
      return oneOf(issue.values);
    case "invalid_union":
      return oneOf("options" in issue && Array.isArray(issue.options) ? issue.options : []);
    case "too_small":
      return issue.origin === "number"
        ? `at least ${issue.minimum}`
        : `a non-empty ${issue.origin}`;
    case "too_big":
      return `at most ${issue.maximum}`;
    default:
      return issue.message.replace(/^expected /, "");
  }
}

function withArticle(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function oneOf(values: readonly unknown[]): string {
  const words = values.map((value) => JSON.stringify(value));
  return words.length === 1 ? String(words[0]) : `one of ${words.join(", ")}`;
}

/** Describes a value by at most its beginning: it may be long, and only its sender may see it. */
export function describeValue(path: Path, value: unknown): string {
  // Query parameters are converted to numbers before they are checked.
  if (Number.isNaN(value)) return "a text that is no number";
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (path.some((field) => SECRET_FIELD.test(String(field)))) return withArticle(typeof value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  switch (typeof value) {
    case "string":
      return value.length > MAX_SHOWN_LENGTH
        ? `the string ${JSON.stringify(`${value.slice(0, MAX_SHOWN_LENGTH)}…`)}`
        : `the string ${JSON.stringify(value)}`;
    case "number":
    case "boolean":
      return `the ${typeof value} ${value}`;
    default:
      return withArticle(typeof value);
  }
}

export function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) {
      return undefined;
    }
    current = Reflect.get(current, key);
  }
  return current;
}

/** Formats a path as `messages[0].content`. */
export function formatPath(path: Path): string {
  return path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "");
}

/** The beginning of a name that was sent. */
export function shownName(name: string): string {
  return name.slice(0, MAX_SHOWN_LENGTH);
}
