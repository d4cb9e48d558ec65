import { type ApiKey, type ApiKeyRow, toApiKey } from "./api-key.ts";

/** All keys in memory, by hash. A change may arrive twice: an older state never replaces a newer one. */
export class KeyCache {
  readonly #byId = new Map<string, ApiKey>();
  readonly #byHash = new Map<string, ApiKey>();
  readonly #byPreviousHash = new Map<string, ApiKey>();

  /** @param now in Unix milliseconds. The secret before a rotation finds its key until its end. */
  find(keyHash: string, now: number): ApiKey | undefined {
    const key = this.#byHash.get(keyHash);
    if (key !== undefined) return key;
    const rotated = this.#byPreviousHash.get(keyHash);
    const until = rotated?.previous?.expiresAt ?? 0;
    return until > now ? rotated : undefined;
  }

  get(id: string): ApiKey | undefined {
    return this.#byId.get(id);
  }

  apply(row: ApiKeyRow): void {
    const earlier = this.#byId.get(row.id);
    if (earlier !== undefined && row.changeSeq < earlier.changeSeq) return;
    if (earlier !== undefined) this.#forget(earlier);
    const key = toApiKey(row);
    this.#byId.set(row.id, key);
    this.#byHash.set(key.keyHash, key);
    if (key.previous !== null) this.#byPreviousHash.set(key.previous.keyHash, key);
  }

  remove(id: string): void {
    const key = this.#byId.get(id);
    if (key === undefined) return;
    this.#byId.delete(id);
    this.#forget(key);
  }

  /** A hash that now belongs to another key stays with that key. */
  #forget(key: ApiKey): void {
    if (this.#byHash.get(key.keyHash) === key) this.#byHash.delete(key.keyHash);
    const previousHash = key.previous?.keyHash;
    if (previousHash !== undefined && this.#byPreviousHash.get(previousHash) === key) {
      this.#byPreviousHash.delete(previousHash);
    }
  }
}
