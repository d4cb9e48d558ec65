import { sql } from "drizzle-orm";
import type { Ask } from "../../../db/database.ts";
import { apiKeys } from "../../../db/tables/api-keys.ts";

/** Keys whose use is written in one statement. */
const BATCH_KEYS = 2_000;

interface KeyUse {
  readonly id: string;
  /** RFC 3339. */
  readonly at: string;
}

/** When each key was last used: noted in memory, written now and then, so that no call waits for it. */
export class KeyUses {
  #latest = new Map<string, number>();

  /** @param now Unix milliseconds. */
  note(keyId: string, now: number): void {
    if (now > (this.#latest.get(keyId) ?? 0)) this.#latest.set(keyId, now);
  }

  /** Writes what was noted. What could not be written is kept for the next time; then it rejects. */
  async write(ask: Ask): Promise<void> {
    const noted = this.#latest;
    this.#latest = new Map();
    const uses = [...noted].map(([id, at]) => ({ id, at: new Date(at).toISOString() }));
    const kept = new Set(noted.keys());
    try {
      for (let start = 0; start < uses.length; start += BATCH_KEYS) {
        const batch = uses.slice(start, start + BATCH_KEYS);
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
 * Raises the moments, never lowers one, and touches no change counter. Rows that somebody else is changing are passed
 * over and returned: waiting for them could end in a deadlock with whoever changes many keys at once.
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
