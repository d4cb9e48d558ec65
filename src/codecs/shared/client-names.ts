import { isJsonObject } from "../../lib/json/json.ts";

/** How a client names its parameters, and which of them are never sent to any model. */
export interface ClientNames {
  /**
   * Returns the client's own names of a parameter, by its canonical name; an empty list when the client did not send it.
   * A missing entry means that both names are equal. A function, because few calls need them.
   */
  readonly own: () => ReadonlyMap<string, readonly string[]>;
  /** What the client sent that has no effect on any model. */
  readonly ignored: readonly string[];
}

/** Limits on the number and length of the names that are reported: the client may have made them up. */
const MAX_NAMES = 64;
const MAX_NAME_LENGTH = 64;
const NONE: readonly string[] = [];

/**
 * Returns the ignored parameters of a call by the client's own names, sorted.
 *
 * @param ignored canonical names of the parameters that the answering model does not receive.
 */
export function nameIgnored(ignored: readonly string[], names: ClientNames): readonly string[] {
  if (ignored.length === 0 && names.ignored.length === 0) return NONE;
  const own = names.own();
  const known = ignored.flatMap((name) => own.get(name) ?? [name]);
  const all = [...names.ignored, ...known].map((name) => name.slice(0, MAX_NAME_LENGTH));
  return [...new Set(all)].sort().slice(0, MAX_NAMES);
}

/** Returns the name of list items that are dropped because of their type: `tools[web_search]`. */
export function typeName(list: string, type: unknown): string {
  return `${list}[${typeof type === "string" ? type : typeof type}]`;
}

/** Returns true for a value that has content. */
export function saysSomething(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  return !isJsonObject(value) || Object.keys(value).length > 0;
}
