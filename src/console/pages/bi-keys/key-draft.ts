import type { BiKey, NewBiKey } from "../../api/queries/bi-keys.ts";
import { splitList } from "../../lib/split-list.ts";

/** A BI key's fields as a form holds them. */
export interface BiKeyDraft {
  readonly name: string;
  /** All tables, those to come too. */
  readonly isAll: boolean;
  /** The chosen ones, kept while all are chosen. */
  readonly tables: readonly string[];
  readonly rows: number | null;
  readonly seconds: number | null;
  readonly connections: number | null;
  /** One a line. */
  readonly addresses: string;
  /** RFC 3339 or null for never. */
  readonly expiresAt: string | null;
}

const ALL = "*";

export const NEW_BI_KEY: BiKeyDraft = {
  name: "",
  isAll: false,
  tables: [],
  rows: 1_000_000,
  seconds: 30,
  connections: 10,
  addresses: "",
  expiresAt: null,
};

export function toDraft(key: BiKey): BiKeyDraft {
  const isAll = key.datasets.includes(ALL);
  return {
    name: key.name,
    isAll,
    tables: isAll ? [] : key.datasets,
    rows: key.row_limit,
    seconds: key.timeout_seconds,
    connections: key.max_connections,
    addresses: key.ip_allow.join("\n"),
    expiresAt: key.expires_at,
  };
}

/** Returns the fields as the API names them; an empty limit is the usual one. */
export function toFields(draft: BiKeyDraft): NewBiKey {
  return {
    name: draft.name,
    datasets: draft.isAll ? [ALL] : [...draft.tables],
    row_limit: draft.rows ?? (NEW_BI_KEY.rows as number),
    timeout_seconds: draft.seconds ?? (NEW_BI_KEY.seconds as number),
    max_connections: draft.connections ?? (NEW_BI_KEY.connections as number),
    ip_allow: splitList(draft.addresses),
    expires_at: draft.expiresAt,
  };
}

/** Says what a key may read: "all, those to come too", "nothing", or the names. */
export function tablesOf({ datasets }: BiKey): string {
  if (datasets.includes(ALL)) return "all, those to come too";
  return datasets.length === 0 ? "nothing" : datasets.join(", ");
}
