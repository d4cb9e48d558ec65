import { isJsonObject } from "../../lib/json.ts";

/** How a client names its parameters, and which of them no model is ever told. */
export interface ClientNames {
  /** The client's own names of a parameter, by its canonical one; none when the client did not send it. Without an entry both are the same. */
  readonly own: ReadonlyMap<string, readonly string[]>;
  /** What the client sent that has no effect, whoever answers. */
  readonly ignored: readonly string[];
}

/** No client is told more names than these, nor longer ones: it may have made them up. */
const MAX_NAMES = 64;
const MAX_NAME_LENGTH = 64;
const NONE: readonly string[] = [];

/**
 * What was ignored of a call, in its client's own names, sorted.
 *
 * @param ignored canonical names of what the model that answers was not told.
 */
export function nameIgnored(ignored: readonly string[], names: ClientNames): readonly string[] {
  if (ignored.length === 0 && names.ignored.length === 0) return NONE;
  const own = ignored.flatMap((name) => names.own.get(name) ?? [name]);
  const all = [...names.ignored, ...own].map((name) => name.slice(0, MAX_NAME_LENGTH));
  return [...new Set(all)].sort().slice(0, MAX_NAMES);
}

/** The members of a list that are left out for their type: `tools[web_search]`. */
export function typeName(list: string, type: unknown): string {
  return `${list}[${typeof type === "string" ? type : typeof type}]`;
}

/** True for a value that asks for something. */
export function saysSomething(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  return !isJsonObject(value) || Object.keys(value).length > 0;
}
