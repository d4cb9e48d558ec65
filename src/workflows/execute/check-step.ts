import { eq } from "drizzle-orm";
import type { SessionCaller } from "../../core/callers/caller.ts";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import type { Step } from "../definition/definition.ts";
import { readOwner } from "../owner-caller.ts";
import { type ClaimedRun, StepFailure } from "../runs/run.ts";
import type { StepKind } from "../steps/step-kind.ts";

/**
 * Refuses a step that its workflow's owner may not run now: rights, keys and what a step names may have changed since
 * the workflow was saved. Rejects with a `StepFailure`.
 */
export async function checkStep(
  db: Db,
  run: ClaimedRun,
  { step, kind }: { readonly step: Step; readonly kind: StepKind },
): Promise<void> {
  const owner = await readOwner((work) => work(db), run.ownerId);
  if (kind.administratorsOnly && owner.role !== "admin") {
    throw new StepFailure(
      "owner_not_administrator",
      `Only workflows of administrators may have a step of the kind "${kind.kind}". Let an administrator take the workflow over.`,
    );
  }
  if (kind.needsKey) await checkKey(db, run.keyId, owner);
  const { workflowId, keyId, definition } = run;
  const faults = await kind.check?.(step.settings, { owner, workflowId, keyId, step, definition });
  if (faults === undefined || faults.length === 0) return;
  const message = faults.map((fault) => `${fault.field}: ${fault.message}`).join(" ");
  throw new StepFailure("step_refused", message);
}

async function checkKey(db: Db, keyId: string | null, owner: SessionCaller): Promise<void> {
  const { id, state, ownerId } = apiKeys;
  const [key] =
    keyId === null ? [] : await db.select({ state, ownerId }).from(apiKeys).where(eq(id, keyId));
  if (key === undefined) {
    const message = "The workflow has no key, or its key was deleted. Choose a key for it.";
    throw new StepFailure("key_missing", message);
  }
  // The key or the workflow may have got another owner since the workflow was saved.
  if (key.ownerId !== owner.ownerId) {
    throw new StepFailure(
      "key_not_owned",
      "The workflow's key is not one of its owner's. Choose another key for it.",
    );
  }
  if (key.state !== "active") {
    throw new StepFailure(
      "key_inactive",
      "The workflow's key is not active. Activate it or choose another.",
    );
  }
}
