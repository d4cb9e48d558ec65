import type { Db } from "../../db/context.ts";
import type { Actor } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { BiKeyPatch } from "./bi-key.ts";

interface BiKeyChange {
  readonly verb: "create" | "update" | "delete" | "rotate";
  readonly id: string;
  /** What it was set to, or what tells a reader which key it was. */
  readonly fields: BiKeyPatch;
}

/** Writes a change of a BI key into the audit log, in the names that clients know. */
export function recordBiKeyChange(
  transaction: Db,
  actor: Actor,
  { verb, id, fields }: BiKeyChange,
): Promise<void> {
  const { name, state, datasets, ipAllow, expiresAt } = fields;
  return recordAudit(transaction, actor, {
    action: `bi_key.${verb}`,
    targetKind: "bi_key",
    targetId: id,
    details: {
      name,
      state,
      datasets,
      ip_allow: ipAllow,
      expires_at: expiresAt === undefined ? undefined : (expiresAt?.toISOString() ?? null),
    },
  });
}
