import { createHash } from "node:crypto";
import { randomBase62 } from "../../lib/id.ts";
import type { SecretBox } from "../../lib/secret-box.ts";
import type { Trigger } from "../definition/definition.ts";
import { WEBHOOK_PATH, type WorkflowRow } from "./workflow.ts";

/** 256 bits. */
const DIGITS = 43;

/** A new credential of a webhook: shown once. */
export interface IssuedWebhook {
  readonly auth: "secret" | "url";
  readonly path: string;
  /** Undefined where the path is the credential. */
  readonly secret?: string | undefined;
}

export type WebhookColumns = Pick<WorkflowRow, "webhookSecret" | "webhookUrlHash">;

const NONE: WebhookColumns = { webhookSecret: null, webhookUrlHash: null };

/** What is stored of a webhook, and its credential when it is a new one. */
export interface WebhookChange {
  readonly columns: WebhookColumns;
  readonly issued: IssuedWebhook | undefined;
}

/** Keeps the credential of a webhook that stays, makes one for a new webhook, and drops that of a removed one. */
export function followWebhook(
  secretBox: SecretBox,
  workflowId: string,
  {
    triggers,
    stored = NONE,
  }: { readonly triggers: readonly Trigger[]; readonly stored?: WebhookColumns },
): WebhookChange {
  const webhook = triggers.find(({ kind }) => kind === "webhook");
  if (webhook?.kind !== "webhook") return { columns: NONE, issued: undefined };
  const kept = webhook.auth === "url" ? stored.webhookUrlHash : stored.webhookSecret;
  if (kept === null) return issueWebhook(secretBox, workflowId, webhook.auth);
  const { webhookSecret, webhookUrlHash } = stored;
  return { columns: { webhookSecret, webhookUrlHash }, issued: undefined };
}

export function issueWebhook(
  secretBox: SecretBox,
  workflowId: string,
  auth: "secret" | "url",
): WebhookChange {
  if (auth === "url") {
    const id = `whu_${randomBase62(DIGITS)}`;
    return {
      columns: { webhookSecret: null, webhookUrlHash: hashWebhookUrl(id) },
      issued: { auth, path: `${WEBHOOK_PATH}/${id}` },
    };
  }
  const secret = `whk_${randomBase62(DIGITS)}`;
  return {
    columns: { webhookSecret: secretBox.seal(secret, workflowId), webhookUrlHash: null },
    issued: { auth, path: `${WEBHOOK_PATH}/${workflowId}`, secret },
  };
}

/** Returns what the database has of the id of a webhook whose address is its credential. */
function hashWebhookUrl(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}
