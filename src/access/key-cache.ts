import { type ApiKey, type ApiKeyRow, toApiKey } from "./api-key.ts";

/** All keys in memory, by hash. Changes may arrive in any order and twice: the newest wins. */
export class KeyCache {
  readonly #byHash = new Map<string, ApiKey>();
  readonly #hashById = new Map<string, string>();
  /** Keys deleted here that a poll under way may still bring. */
  readonly #deleted = new Map<string, number>();

  find(keyHash: string): ApiKey | undefined {
    return this.#byHash.get(keyHash);
  }

  apply(row: ApiKeyRow): void {
    const earlierHash = this.#hashById.get(row.id);
    const earlier = earlierHash === undefined ? undefined : this.#byHash.get(earlierHash);
    const newest = Math.max(earlier?.changeSeq ?? 0, this.#deleted.get(row.id) ?? 0);
    if (row.changeSeq < newest) return;
    if (earlierHash !== undefined) this.#byHash.delete(earlierHash);
    this.#byHash.set(row.keyHash, toApiKey(row));
    this.#hashById.set(row.id, row.keyHash);
  }

  remove(id: string, changeSeq: number): void {
    this.#deleted.set(id, changeSeq);
    const hash = this.#hashById.get(id);
    if (hash === undefined) return;
    this.#byHash.delete(hash);
    this.#hashById.delete(id);
  }

  /** Everything up to this change has arrived; what was deleted before can come no more. */
  settle(changeSeq: number): void {
    for (const [id, deletedSeq] of this.#deleted) {
      if (deletedSeq <= changeSeq) this.#deleted.delete(id);
    }
  }
}
