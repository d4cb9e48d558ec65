import type { AnyCaller } from "../../core/callers/caller.ts";
import { coversName, EVERY_NAME } from "../../core/name-patterns.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { type ApiKeyPatch, type ApiKeyRecord, readApiKey } from "./api-key-record.ts";

type Rights = Pick<ApiKeyRecord, "passthrough" | "maxLevel" | "toolScope">;

const LEVELS: readonly ApiKeyRecord["maxLevel"][] = ["read_only", "write", "full_auto"];

/** A scope that narrows nothing. */
export const FULL_SCOPE: Rights["toolScope"] = {
  tools: [EVERY_NAME],
  sql_connections: [EVERY_NAME],
};

/**
 * The rights of a new key unless it is given more or less. The scope is no grant: a key is bound by its assistant's
 * tools, and by `maxLevel`.
 */
export const NEW_KEY_RIGHTS: Rights = {
  passthrough: false,
  maxLevel: "read_only",
  toolScope: FULL_SCOPE,
};
/** What any key may grant. */
const LEAST_RIGHTS: Rights = { ...NEW_KEY_RIGHTS, toolScope: { tools: [], sql_connections: [] } };

/**
 * Refuses a grant of rights that neither the key had before nor the calling key has. Otherwise a holder of the calling
 * key could raise it or create a successor. Rejects with `insufficient_permission` that names the field. `refuseRaise`
 * decides what a session may grant.
 *
 * @param given has the new rights of the key; undefined fields stay unchanged.
 * @param had are the rights of the key before.
 */
export async function refuseMoreRights(
  transaction: Db,
  caller: AnyCaller,
  given: ApiKeyPatch,
  had: Rights = LEAST_RIGHTS,
): Promise<void> {
  if (caller.kind !== "key") return;
  // The rights are read again, because they may have been lowered since the call was accepted.
  const own = await readApiKey(transaction, caller.keyId, undefined);
  const most = [own, had];
  const { passthrough, maxLevel, toolScope } = given;
  if (passthrough === true && !most.some((rights) => rights.passthrough)) {
    throw moreThanOwn("passthrough");
  }
  if (maxLevel !== undefined && most.every((rights) => isAbove(maxLevel, rights.maxLevel))) {
    throw moreThanOwn("max_level");
  }
  for (const kind of ["tools", "sql_connections"] as const) {
    const names = most.flatMap((rights) => rights.toolScope[kind]);
    if (toolScope?.[kind].some((name) => !coversName(names, name))) {
      throw moreThanOwn("tool_scope");
    }
  }
}

/** Returns whether a level allows more than another. */
export function isAbove(level: Rights["maxLevel"], other: Rights["maxLevel"]): boolean {
  return LEVELS.indexOf(level) > LEVELS.indexOf(other);
}

function moreThanOwn(param: string): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    `A key cannot grant more ${param} than it has. Use the session of a logged-in user.`,
    { param },
  );
}
