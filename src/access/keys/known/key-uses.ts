import { sql } from "drizzle-orm";
import type { Ask } from "../../../db/database.ts";
import { apiKeys } from "../../../db/tables/api-keys.ts";
import { inGroups } from "../../../lib/in-groups.ts";

/** The number of keys whose use is written in one statement. */
const BATCH_KEYS = 2_000;

interface KeyUse {
  readonly id: string;
  /** RFC 3339. */
  readonly at: string;
}

/** The last use of each key: noted in memory and written periodically, so that no call waits for it. */
export class KeyUses {
  #latest = new Map<string, number>();

  /** @param now in Unix milliseconds. */
  note(keyId: string, now: number): void {
    if (now > (this.#latest.get(keyId) ?? 0)) this.#latest.set(keyId, now);
  }

  /** Writes the noted uses. On a failure it keeps the unwritten ones for the next time and rejects. */
  async write(ask: Ask): Promise<void> {
    const noted = this.#latest;
    this.#latest = new Map();
    const uses = [...noted].map(([id, at]) => ({ id, at: new Date(at).toISOString() }));
    const kept = new Set(noted.keys());
    try {
      for (const batch of inGroups(uses, BATCH_KEYS)) {
        const busy = await ask((db) => db.execute<{ id: string }>(writeUses(batch)));
        for (const { id } of batch) kept.delete(id);
        for (const { id } of busy) kept.add(id);
      }
    } finally {
      for (const id of kept) this.note(id, noted.get(id) ?? 0);
    }
  }
}

/**
 * Raises the times, never lowers one, and touches no change counter. Locked rows are skipped and returned: waiting for
 * them could end in a deadlock with a transaction that changes many keys.
 */
function writeUses(uses: readonly KeyUse[]) {
  return sql`
    with used as (
      select * from json_to_recordset(${JSON.stringify(uses)}::json) as used(id text, at timestamptz)
    ), free as (
      select id from ${apiKeys} where id in (select id from used) for no key update skip locked
    ), written as (
      update ${apiKeys} as key set last_used_at = greatest(key.last_used_at, used.at)
      from used, free where key.id = used.id and key.id = free.id
      returning key.id
    )
    select id from ${apiKeys} where id in (select id from used) and id not in (select id from written)
  `;
}
