import { eq } from "drizzle-orm";
import type { SessionCaller } from "../core/callers/caller.ts";
import type { Db } from "../db/context.ts";
import type { Ask } from "../db/database.ts";
import { users } from "../db/tables/users.ts";
import { StepFailure } from "./runs/run.ts";

export interface Owner {
  /** What is saved runs with the owner's rights of now. */
  readonly caller: SessionCaller;
  /** A disabled owner's workflows do not start. */
  readonly isDisabled: boolean;
}

/** Returns the owner of a workflow; undefined without one. */
export async function findOwner(db: Db, ownerId: string | null): Promise<Owner | undefined> {
  const { id, username, role, state } = users;
  const [owner] =
    ownerId === null
      ? []
      : await db.select({ username, role, state }).from(users).where(eq(id, ownerId));
  if (owner === undefined || ownerId === null) return undefined;
  return {
    caller: {
      kind: "session",
      // Nobody is logged in.
      sessionId: "",
      ownerId,
      username: owner.username,
      role: owner.role,
      mustChangePassword: false,
      passthrough: false,
    },
    isDisabled: owner.state === "disabled",
  };
}

/** Returns the owner of a run as a caller. Rejects with a `StepFailure` when there is none, or a disabled one. */
export async function readOwner(ask: Ask, ownerId: string | null): Promise<SessionCaller> {
  // The failures are thrown outside, because `ask` takes an error with a code for one of the database.
  const owner = await ask((db) => findOwner(db, ownerId));
  if (owner === undefined) {
    throw new StepFailure("owner_missing", "The workflow has no owner. Let a user take it over.");
  }
  const { caller, isDisabled } = owner;
  if (!isDisabled) return caller;
  throw new StepFailure(
    "owner_disabled",
    `The workflow's owner ${caller.username} is disabled. Enable the user or let another one take the workflow over.`,
  );
}
