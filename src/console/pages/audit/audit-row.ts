import type { AuditEntry } from "../../api/queries/audit.ts";

export const CSV_COLUMNS = [
  "id",
  "at",
  "actor_id",
  "actor_name",
  "via",
  "credential_id",
  "address",
  "request_id",
  "action",
  "target_kind",
  "target_id",
  "details",
] as const;

/** Returns an entry as a row of the file. */
export function toRow(entry: AuditEntry) {
  const { id, at, actor, via, target, details } = entry;
  return [
    id,
    at,
    actor?.id ?? null,
    actor?.name ?? null,
    via,
    entry.credential_id,
    entry.address,
    entry.request_id,
    entry.action,
    target.kind,
    target.id,
    JSON.stringify(details),
  ];
}

/** Returns what is known beyond who, when and what, in one line. */
export function detailsOf({ details }: AuditEntry): string {
  const parts = Object.entries(details).map(
    ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return parts.join(" · ") || "–";
}
