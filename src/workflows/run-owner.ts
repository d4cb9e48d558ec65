import { eq } from "drizzle-orm";
import type { Caller } from "../core/caller.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";
import { users } from "../db/tables/users.ts";
import { type ClaimedRun, StepFailure } from "./runs/run.ts";

/** Returns the owner of a run as a caller, with the role of now: what a run does, it does with the owner's rights. */
export async function readRunOwner(
  { askOwn }: Pick<Database, "askOwn">,
  { ownerId, id }: Pick<ClaimedRun, "ownerId" | "id">,
): Promise<Caller> {
  const [owner] =
    ownerId === null
      ? []
      : await askOwn((db) => db.select().from(users).where(eq(users.id, ownerId)));
  if (owner === undefined || owner.state !== "active") {
    throw new StepFailure("owner", "The workflow's owner was deleted or disabled.");
  }
  const { role, username } = owner;
  return {
    ...{ kind: "session", sessionId: id, ownerId: owner.id, username, role },
    ...{ mustChangePassword: false, passthrough: false },
  };
}

/** Returns an error of the gateway's own parts as the failure of a step; any other error as it is. */
export function toStepFailure(thrown: unknown): unknown {
  if (!(thrown instanceof ServiceError)) return thrown;
  const { code, message, status, retryAfterSeconds } = thrown;
  const isRetryable = status === 429 || status >= 500 || code === "changed_meanwhile";
  return new StepFailure(code, message, { isRetryable, retryAfterSeconds, cause: thrown });
}

/** Returns the faults of a field by the error of a lookup; rejects with any other error. */
export function faultsOf(field: string) {
  return (thrown: unknown): readonly { readonly field: string; readonly message: string }[] => {
    if (!(thrown instanceof ServiceError) || thrown.status >= 500) throw thrown;
    return [{ field, message: thrown.message }];
  };
}
