import type { Caller } from "../../../core/callers/caller.ts";
import type { workflows } from "../../../db/tables/workflows.ts";
import { mayUse } from "../../../knowledge/rights.ts";

type Workflow = Pick<typeof workflows.$inferSelect, "ownerId" | "visibility">;

/**
 * Whether a caller may read, start and stop a workflow: its owner, administrators, and every user of one for everyone. A
 * key acts as its owner, a restricted one too. For all others the workflow does not exist: they get a 404.
 */
export function mayStart(workflow: Workflow, caller: Pick<Caller, "role" | "ownerId">): boolean {
  return mayUse(workflow, caller);
}
