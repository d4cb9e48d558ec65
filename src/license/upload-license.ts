import type { AnyActor } from "../access/actor.ts";
import { recordAudit } from "../access/audit/record-audit.ts";
import { change } from "../access/change.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";
import { uploadedLicense } from "../db/tables/license.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { License } from "./license.ts";
import { LicenseRefusal, type LicenseTerms } from "./license-file.ts";

export interface LicenseAccess {
  readonly database: Pick<Database, "ask">;
  readonly license: Pick<License, "check" | "catchUp">;
  readonly clock: Clock;
}

/**
 * Replaces the uploaded license for all replicas; the new one is in force here when this resolves. Throws
 * `invalid_value` with the reason when it cannot be in force on this device now; nothing changes then.
 * @param file the whole `.lic` file.
 */
export async function uploadLicense(
  { database, license, clock }: LicenseAccess,
  actor: AnyActor,
  file: string,
): Promise<void> {
  const terms = check(license, file);
  const frame = {
    action: "license.upload",
    targetKind: "license",
    targetId: terms.id,
    counter: { name: "license", catchUp: license.catchUp },
  } as const;
  await change({ database, clock }, actor, frame, async (transaction, changeSeq) => {
    const row = {
      text: file,
      uploadedAt: new Date(clock.now()),
      uploadedBy: actor.caller.ownerId,
      changeSeq,
    };
    await transaction
      .insert(uploadedLicense)
      .values(row)
      .onConflictDoUpdate({ target: uploadedLicense.isOnlyRow, set: row });
    return { result: undefined, details: detailsOf(terms) };
  });
}

function check(license: LicenseAccess["license"], file: string): LicenseTerms {
  try {
    return license.check(file);
  } catch (thrown) {
    throw thrown instanceof LicenseRefusal ? toServiceError(thrown) : thrown;
  }
}

function toServiceError({ message }: LicenseRefusal): ServiceError {
  return new ServiceError("invalid_value", message, { param: "file" });
}

function detailsOf({ customer, kind, expiresAt, maxUsers }: LicenseTerms) {
  return {
    customer,
    kind,
    expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
    max_users: maxUsers,
  };
}

/** Records in the audit log that an upload was not an acceptable license, with the reason. */
export async function recordRefusedUpload(
  { database }: { readonly database: Pick<Database, "ask"> },
  actor: AnyActor,
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
