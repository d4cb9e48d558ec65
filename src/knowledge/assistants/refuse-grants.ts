import { eq, inArray } from "drizzle-orm";
import { type ApiKeyRecord, readApiKey } from "../../access/keys/api-key-record.ts";
import { isAbove } from "../../access/keys/refuse-more-rights.ts";
import type { Caller } from "../../core/callers/caller.ts";
import { coversName, EVERY_NAME } from "../../core/name-patterns.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { vectorStores } from "../../db/tables/knowledge.ts";
import { users } from "../../db/tables/users.ts";
import { mayUse, type Owned, refuseSharing } from "../rights.ts";
import type { AssistantFields, AssistantPatch } from "./assistant-record.ts";

/** The one tool that owners give their assistants by themselves: it reaches nothing but the assistant's knowledge. */
const OWN_TOOLS: readonly string[] = ["search_knowledge"];

/** What a caller may give an assistant: a level, and names or patterns with a trailing `*`. */
type Gift = Pick<AssistantFields, "maxLevel" | "tools" | "sqlConnections" | "fileConnections">;

/** What an owner gives who is no administrator. */
const LEAST: Gift = { maxLevel: "read_only", tools: [], sqlConnections: [], fileConnections: [] };

/**
 * Refuses what only an administrator may give: visibility, tools, connections and a level; and what is more than the key
 * of an administrator has, whose holder could otherwise widen what the calls of others may do. What an assistant had
 * before may stay, and may be narrowed. Rejects with `insufficient_permission` that names the field.
 *
 * @param before has the fields as they are; for a new assistant the defaults.
 */
export async function refuseGrants(
  transaction: Db,
  caller: Caller,
  given: AssistantPatch,
  before: AssistantFields,
): Promise<void> {
  if (caller.role !== "admin") {
    if (given.visibility !== before.visibility) refuseSharing(given.visibility, caller);
    const param = findExcess(given, before, LEAST);
    if (param !== undefined) throw onlyAdministrators(param);
  } else if (caller.kind === "key") {
    // The rights are read again, because they may have been lowered since the call was accepted.
    const own = await readApiKey(transaction, caller.keyId, undefined);
    const param = findExcess(given, before, giftOf(own));
    if (param !== undefined) throw moreThanKey(param);
  }
}

/** Keys have no scope of file connections: files are reached by tools, so a key gives them that is narrowed in none. */
function giftOf({ maxLevel, toolScope }: ApiKeyRecord): Gift {
  const { tools, sql_connections: sqlConnections } = toolScope;
  const fileConnections = coversName(tools, EVERY_NAME) ? [EVERY_NAME] : [];
  return { maxLevel, tools, sqlConnections, fileConnections };
}

/** Returns the field, as clients name it, that is given more than it had before and than may be given. */
function findExcess(
  given: AssistantPatch,
  before: AssistantFields,
  most: Gift,
): string | undefined {
  const { maxLevel = before.maxLevel } = given;
  const isTooHigh = isAbove(maxLevel, most.maxLevel);
  if (isTooHigh && isAbove(maxLevel, before.maxLevel)) return "ext.max_level";
  const lists = [
    ["ext.tools", given.tools, [...before.tools, ...OWN_TOOLS], most.tools],
    ["ext.sql_connections", given.sqlConnections, before.sqlConnections, most.sqlConnections],
    ["ext.file_connections", given.fileConnections, before.fileConnections, most.fileConnections],
  ] as const;
  const found = lists.find(([, names = [], had, more]) =>
    // On a level above its own, the giver adds nothing: the assistant would do with it what the giver may not.
    names.some((name) => !coversName(had, name) && (isTooHigh || !coversName(more, name))),
  );
  return found?.[0];
}

/** Throws `invalid_value` for the name of a tool that does not exist. Patterns may wait for tools to come. */
export function refuseUnknownTools(
  given: readonly string[] | undefined,
  before: readonly string[],
  isTool: (name: string) => boolean,
): void {
  const isFine = (name: string) =>
    name.endsWith(EVERY_NAME) || before.includes(name) || isTool(name);
  const unknown = given?.find((name) => !isFine(name));
  if (unknown === undefined) return;
  throw new ServiceError(
    "invalid_value",
    `There is no tool '${unknown}' here. docs/tools.md lists those of the gateway, GET /api/mcp-servers those of tool servers; a client sends its own with its call.`,
    { param: "ext.tools" },
  );
}

interface Reader {
  readonly caller: Caller;
  /** The owner of the assistant, in whose name its stores are read. */
  readonly ownerId: string | null;
}

/**
 * Rejects with `not_found` for a vector store that does not exist for the caller, and with `invalid_value` for one that
 * the assistant's owner may not use: the assistant could not search it.
 */
export async function refuseForeignStores(
  transaction: Db,
  { caller, ownerId: readerId }: Reader,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const { id, ownerId, visibility } = vectorStores;
  const stores = await transaction
    .select({ id, ownerId, visibility })
    .from(vectorStores)
    .where(inArray(id, [...ids]));
  const usable = new Set(stores.filter((store) => mayUse(store, caller)).map((store) => store.id));
  const named = { param: "tool_resources.file_search.vector_store_ids" };
  if (!ids.every((each) => usable.has(each))) {
    const text = "There is no vector store of this id; see GET /v1/vector_stores.";
    throw new ServiceError("not_found", text, named);
  }
  if (readerId === caller.ownerId || stores.every((store) => isReadBy(store, readerId))) return;
  const [reader] = await transaction
    .select({ role: users.role })
    .from(users)
    .where(eq(users.id, readerId ?? ""));
  if (reader?.role === "admin") return;
  throw new ServiceError(
    "invalid_value",
    "The owner of the assistant may not use this vector store. Share it with everyone, or create an assistant of your own.",
    named,
  );
}

function isReadBy({ ownerId, visibility }: Owned, readerId: string | null): boolean {
  return visibility === "everyone" || ownerId === readerId;
}

function moreThanKey(param: string): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    `A key gives an assistant no more '${param}' than its own 'max_level' and 'tool_scope' allow, and file connections ` +
      "only where its tools are '*'. Use the session of an administrator.",
    { param },
  );
}

function onlyAdministrators(param: string): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    `Only an administrator may raise '${param}' of an assistant. Leave it out, or ask an administrator.`,
    { param },
  );
}
