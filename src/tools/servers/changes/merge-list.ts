import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ListedTool } from "../client/tool-server-client.ts";
import type { ToolRow } from "../tool-server.ts";
import { definitionOf } from "../tool-server.ts";

/** What a new list changes in the stored tools of a server. */
export interface ListChanges {
  /** Tools that are new, changed or back, as they are listed now. */
  readonly listed: readonly { readonly name: string; readonly listed: JsonObject }[];
  /** Approved tools that are listed no longer. */
  readonly gone: readonly string[];
  /** Tools that were never approved and are listed no longer. */
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
  const missing = stored.filter((row) => !names.has(row.name) && row.listed !== null);
  const gone = missing.filter(({ approved }) => approved !== null).map(({ name }) => name);
  const forgotten = missing.filter(({ approved }) => approved === null).map(({ name }) => name);
  if (listed.length + missing.length === 0) return undefined;
  return { listed, gone, forgotten };
}
