import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components, paths } from "../schema.d.ts";
import { useList } from "../use-list.ts";

export type AuditEntry = components["schemas"]["AuditEntry"];
export type AuditFilters = Omit<
  NonNullable<paths["/api/admin/audit"]["get"]["parameters"]["query"]>,
  "limit" | "before"
>;

const PAGE = 100;
const MAX_PAGE = 1_000;

/** Who changed what, the newest first. */
export function useAudit(filters: AuditFilters) {
  return useList<AuditEntry, number | undefined>({
    key: ["audit", filters],
    first: undefined,
    next: (page) => (page.has_more ? page.data.at(-1)?.id : undefined),
    load: (before, signal) => loadAudit(filters, { limit: PAGE, ...place(before) }, signal),
  });
}

/** Returns all entries that the filters leave, up to `most`, the newest first. */
export async function loadAllAudit(filters: AuditFilters, most: number): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  let hasMore = true;
  while (hasMore && entries.length < most) {
    const page = await loadAudit(filters, { limit: MAX_PAGE, ...place(entries.at(-1)?.id) });
    entries.push(...page.data);
    hasMore = page.has_more && page.data.length > 0;
  }
  return entries.slice(0, most);
}

function loadAudit(
  filters: AuditFilters,
  page: { readonly limit: number; readonly before?: number },
  signal?: AbortSignal,
) {
  const params = { query: { ...filters, ...page } };
  return unwrap(api.GET("/api/admin/audit", { params, ...(signal && { signal }) }));
}

function place(before: number | undefined): { before?: number } {
  return before === undefined ? {} : { before };
}
