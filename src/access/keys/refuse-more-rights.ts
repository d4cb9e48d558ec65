import type { Caller } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { type ApiKeyPatch, type ApiKeyRecord, readApiKey } from "./api-key-record.ts";

type Rights = Pick<ApiKeyRecord, "passthrough" | "maxLevel" | "toolScope">;

const LEVELS: readonly ApiKeyRecord["maxLevel"][] = ["read_only", "write", "full_auto"];

/** What a new key has unless it is given more. */
export const LEAST_RIGHTS: Rights = {
  passthrough: false,
  maxLevel: "read_only",
  toolScope: { tools: [], sql_connections: [] },
};

/**
 * Refuses, with `insufficient_permission` that names the field, what would give a key more than it had and more than
 * the key that calls has itself: whoever holds that could raise it, or make a successor. What a session may give, `refuseRaise` decides.
 *
 * @param given what the key is to have; what is undefined stays as it was.
 * @param had by the key before.
 */
export async function refuseMoreRights(
  transaction: Db,
  caller: Caller,
  given: ApiKeyPatch,
  had: Rights = LEAST_RIGHTS,
): Promise<void> {
  if (caller.kind !== "key") return;
  // As it is now: it may have been lowered since the call was let in.
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
    const names = new Set(most.flatMap((rights) => rights.toolScope[kind]));
    if (toolScope?.[kind].some((name) => !names.has(name))) throw moreThanOwn("tool_scope");
  }
}

/** Whether a level allows more than another. */
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
