import { eq } from "drizzle-orm";
import { workflows } from "../../db/tables/workflows.ts";
import { parseTriggers } from "../definition/parse-triggers.ts";
import { hashWebhookUrl } from "../records/webhook-credential.ts";
import type { WorkflowStore } from "../workflow-store.ts";

/** An id that is its own credential: 256 bits in base62. */
const URL_ID = /^whu_[0-9A-Za-z]{43}$/;
const WORKFLOW_ID = /^wf_[0-9A-Za-z]{1,64}$/;

/** The workflow that a webhook's address names. */
export interface WebhookTarget {
  readonly workflowId: string;
  readonly enabled: boolean;
  readonly ownerId: string | null;
  readonly visibility: "private" | "everyone";
  /** Undefined without a webhook of its own. */
  readonly secret: string | undefined;
}

/** Whether the address itself is the credential. It is shown nowhere, the log included. */
export function isUrlId(id: string): boolean {
  return id.startsWith("whu_");
}

/** Finds the workflow of an address; undefined for an unknown one. */
export async function findTarget(
  { database, secretBox }: Pick<WorkflowStore, "database" | "secretBox">,
  id: string,
): Promise<WebhookTarget | undefined> {
  if (!(isUrlId(id) ? URL_ID : WORKFLOW_ID).test(id)) return undefined;
  const isMeant = isUrlId(id)
    ? eq(workflows.webhookUrlHash, hashWebhookUrl(id))
    : eq(workflows.id, id);
  const [found] = await database.ask((db) =>
    db
      .select({
        workflowId: workflows.id,
        enabled: workflows.enabled,
        ownerId: workflows.ownerId,
        visibility: workflows.visibility,
        sealed: workflows.webhookSecret,
      })
      .from(workflows)
      .where(isMeant),
  );
  if (found === undefined) return undefined;
  const { sealed, ...target } = found;
  const secret = sealed === null ? undefined : secretBox.open(sealed, target.workflowId);
  return { ...target, secret };
}

/** Whether the webhook of a workflow takes calls that its own runs led to. */
export async function allowsLoop(
  { database }: Pick<WorkflowStore, "database">,
  workflowId: string,
): Promise<boolean> {
  const [found] = await database.ask((db) =>
    db
      .select({ definition: workflows.definition })
      .from(workflows)
      .where(eq(workflows.id, workflowId)),
  );
  const { triggers } = parseTriggers(found?.definition["triggers"]);
  return triggers.some(({ trigger }) => trigger.kind === "webhook" && trigger.allow_loop);
}
