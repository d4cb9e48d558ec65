import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ListedTool } from "../client/tool-server-client.ts";
import type { ToolRow } from "../tool-server.ts";
import { definitionOf } from "../tool-server.ts";

/** What a new list changes in the stored tools of a server. */
export interface ListChanges {
  /** Tools that are new, changed or back, as they are listed now. */
  readonly listed: readonly { readonly name: string; readonly listed: JsonObject }[];
  /** Tools that are listed no longer, and are approved or have a level that an administrator set. */
  readonly gone: readonly string[];
  /** Tools that are listed no longer, and of which nobody has decided anything. */
  readonly forgotten: readonly string[];
}

/** Compares the stored tools of a server with those that it lists. Returns undefined when nothing has changed. */
export function mergeList(
  stored: readonly ToolRow[],
  list: readonly ListedTool[],
): ListChanges | undefined {
  const before = new Map(stored.map((row) => [row.name, row]));
  const definitions = list.map(definitionOf);
  const names = new Set(definitions.map(({ name }) => name));
  const listed = definitions
    .filter((now) => !isDeepStrictEqual(before.get(now.name)?.listed, now))
    .map((now) => ({ name: now.name, listed: now }));
  const missing = stored.filter((row) => !names.has(row.name));
  // A server that leaves a tool out once must not raise it to the level that its annotations claim.
  const isDecided = ({ approved, level }: ToolRow) => approved !== null || level !== null;
  const gone = missing.filter((row) => isDecided(row) && row.listed !== null);
  const forgotten = missing.filter((row) => !isDecided(row));
  if (listed.length + gone.length + forgotten.length === 0) return undefined;
  return { listed, gone: gone.map(nameOf), forgotten: forgotten.map(nameOf) };
}

function nameOf({ name }: ToolRow): string {
  return name;
}
