import type { Actor } from "../access/actor.ts";
import { recordAudit } from "../access/audit/record-audit.ts";
import type { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";

/** Notes in the audit log that somebody's upload was no license to be taken, and why. */
export async function recordRefusedUpload(
  { database }: { readonly database: Pick<Database, "ask"> },
  actor: Actor,
  { code, message }: ServiceError,
): Promise<void> {
  await database.ask((db) =>
    recordAudit(db, actor, {
      action: "license.upload_refused",
      targetKind: "license",
      targetId: null,
      details: { code, reason: message },
    }),
  );
}
