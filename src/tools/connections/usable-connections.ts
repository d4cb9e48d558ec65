import type { Caller } from "../../core/callers/caller.ts";
import { coversName } from "../../core/name-patterns.ts";
import type { Assistant } from "../../knowledge/assistants/assistant.ts";
import { nameKey } from "../../knowledge/assistants/name-key.ts";
import type { SavedConnection, SavedConnections } from "./connection.ts";

/**
 * Returns the saved connections that a caller's tools may read through an assistant, by name: those that the assistant
 * names, and of these, for a call with a key, those in the key's scope. Names are compared whatever their case. Every
 * tool that reads saved connections asks only here.
 */
export function usableConnections(
  saved: Pick<SavedConnections, "list">,
  { sqlConnections }: Pick<Assistant, "sqlConnections">,
  caller: Caller,
): readonly SavedConnection[] {
  if (sqlConnections.length === 0) return [];
  const named = sqlConnections.map(nameKey);
  const scope = caller.kind === "key" ? caller.toolScope.sql_connections.map(nameKey) : undefined;
  return saved.list().filter(({ name }) => {
    const key = nameKey(name);
    return coversName(named, key) && (scope === undefined || coversName(scope, key));
  });
}
