import { and, eq } from "drizzle-orm";
import type { Database } from "../../../db/database.ts";
import { vectorStores } from "../../../db/tables/knowledge.ts";
import { takeTurns } from "../../../lib/concurrency.ts";
import type { Log } from "../../../lib/log.ts";
import {
  OutgrownStore,
  type SearchedStore,
  StaleStore,
  type StoreState,
} from "../searched-store.ts";
import { loadChunks } from "./load-chunks.ts";
import { MemoryThread } from "./memory-thread.ts";
import {
  chunksOf,
  type HeldFile,
  listFiles,
  passingFiles,
  rangesOf,
  type StoredFile,
} from "./stored-files.ts";

/** A store that was evicted at once by others is loaded again. */
const ATTEMPTS_MAX = 3;
/** What the words of a passage take, about, and the rest of it that is neither text nor vector. */
const WORDS_BYTES = 1_500;

/** The bytes of memory that chunks take, about. */
export function memoryNeeded(chunks: number, dimensions: number): number {
  return chunks * (dimensions * 4 + WORDS_BYTES);
}

/** A store in memory. */
interface Held {
  /** Its name in the thread. */
  readonly name: string;
  readonly generation: number;
  version: number;
  bytes: number;
  files: ReadonlyMap<string, HeldFile>;
  /** Numbers given to files, and chunks of files that were removed but still take memory. */
  numbers: number;
  removedChunks: number;
}

export interface MemoryStoresOptions {
  readonly database: Database;
  readonly maxBytes: number;
  readonly log: Log;
}

/** Stores whose vectors and words are held in a thread of this process. The least recently searched ones are dropped. */
export class MemoryStores {
  readonly #options: MemoryStoresOptions;
  readonly #thread: MemoryThread;
  /** In order of use, the most recent at the end. */
  readonly #held = new Map<string, Held>();
  readonly #inTurn = takeTurns();
  #names = 0;

  constructor(options: MemoryStoresOptions) {
    this.#options = options;
    this.#thread = new MemoryThread((cause) => {
      this.#held.clear();
      options.log.error(
        { cause },
        "the thread that searches vector stores in memory stopped; the next search starts it again and reloads its stores",
      );
    });
  }

  /** The bytes that are held now. */
  get bytes(): number {
    return Array.from(this.#held.values(), ({ bytes }) => bytes).reduce((sum, b) => sum + b, 0);
  }

  /** Loads the store with the first use of what is returned, which rejects with `OutgrownStore` if it does not fit. */
  open(store: StoreState): SearchedStore {
    return {
      begin: async ({ vector, words, filter, limit }) => ({
        counts: await this.#use(store, ({ name }) => this.#thread.ask("count", name, { words })),
        finish: (weighted) =>
          this.#use(store, async ({ name, files }) => {
            const passing = filter && (await passingFiles(files, filter));
            const wanted = { vector, words: weighted, limit, files: passing };
            return this.#thread.ask("search", name, { wanted });
          }),
      }),
    };
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  /**
   * Nothing comes between the check of the store and its use, so that it is not dropped in between. One that is dropped
   * during the work, as while a filter is compared with many files, rejects with `StaleStore`.
   */
  async #use<Result>(store: StoreState, work: (held: Held) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      const held = this.#held.get(store.id);
      if (held?.generation === store.generation && held.version >= store.version) {
        this.#held.delete(store.id);
        this.#held.set(store.id, held);
        return work(held);
      }
      if (attempt > ATTEMPTS_MAX) throw new StaleStore(`${store.id} changes all the time`);
      await this.#inTurn(() => this.#refresh(store));
    }
  }

  async #refresh(store: StoreState): Promise<void> {
    const old = this.#held.get(store.id);
    if (old?.generation === store.generation && old.version >= store.version) return;
    // Read before the files, so that a change meanwhile is noticed by the next search.
    const version = await this.#readVersion(store);
    const files = await listFiles(this.#options.database, store.id);
    const chunks = chunksOf(files);
    const bytesMax = this.#options.maxBytes;
    if (memoryNeeded(chunks, store.dimensions) > bytesMax) {
      this.#discard(store.id);
      throw new OutgrownStore(chunks);
    }
    const kept = old === undefined ? undefined : this.#withoutGone(old, store, files);
    const added = files.filter(({ id }) => kept?.files.has(id) !== true);
    this.#makeRoom(store.id, memoryNeeded(chunksOf(added), store.dimensions));
    try {
      const held = kept ?? (await this.#create(store));
      await this.#load(store, held, files);
      held.version = version;
    } catch (thrown) {
      this.#discard(store.id);
      throw thrown;
    }
  }

  async #readVersion({ id, generation }: StoreState): Promise<number> {
    const [row] = await this.#options.database.askOwn((db) =>
      db
        .select({ version: vectorStores.version })
        .from(vectorStores)
        .where(and(eq(vectorStores.id, id), eq(vectorStores.generation, generation))),
    );
    if (row === undefined) throw new StaleStore(id);
    return row.version;
  }

  /** Returns the held store without files that are gone or changed; undefined where a new start costs less memory. */
  #withoutGone(old: Held, store: StoreState, files: readonly StoredFile[]): Held | undefined {
    const marks = new Map(files.map(({ id, mark }) => [id, mark]));
    const gone = [...old.files.values()].filter(({ id, mark }) => marks.get(id) !== mark);
    const removedChunks = old.removedChunks + chunksOf(gone);
    const chunks = chunksOf(files);
    const isFull = memoryNeeded(chunks + removedChunks, store.dimensions) > this.#options.maxBytes;
    if (old.generation !== store.generation || removedChunks > chunks || isFull) {
      this.#discard(store.id);
      return undefined;
    }
    const goneIds = new Set(gone.map(({ id }) => id));
    old.files = new Map([...old.files].filter(([id]) => !goneIds.has(id)));
    old.removedChunks = removedChunks;
    // Searches that began with the old version go on beside this: the passages are verified when they are read.
    void this.#thread
      .ask("remove", old.name, { files: gone.map(({ number }) => number) })
      .catch(() => undefined);
    return old;
  }

  async #create({ id, generation, dimensions }: StoreState): Promise<Held> {
    this.#names += 1;
    const held: Held = {
      name: `${id}/${this.#names}`,
      generation,
      // Not searched until it is loaded.
      version: -1,
      bytes: 0,
      files: new Map(),
      numbers: 0,
      removedChunks: 0,
    };
    this.#held.set(id, held);
    await this.#thread.ask("create", held.name, { dimensions });
    return held;
  }

  async #load(store: StoreState, held: Held, files: readonly StoredFile[]): Promise<void> {
    const numbers = new Map<string, number>();
    for (const { id } of files) {
      if (held.files.has(id)) continue;
      numbers.set(id, held.numbers);
      held.numbers += 1;
    }
    let adding: Promise<void> = Promise.resolve();
    for (const range of rangesOf(files, numbers)) {
      for await (const portion of loadChunks(this.#options.database, store, range)) {
        const chunks = portion.flatMap(({ fileId, ...chunk }) => {
          const file = numbers.get(fileId);
          return file === undefined ? [] : [{ ...chunk, file }];
        });
        // One portion is added while the next one is read.
        await adding;
        adding = this.#thread.ask("add", held.name, { chunks }).then((bytes) => {
          held.bytes = bytes;
        });
        adding.catch(() => undefined);
      }
    }
    await adding;
    held.files = new Map(
      files.map((file) => {
        const number = numbers.get(file.id) ?? held.files.get(file.id)?.number ?? 0;
        return [file.id, { ...file, number }];
      }),
    );
  }

  /** Drops the stores that were not searched for longest, until there is room. */
  #makeRoom(exceptId: string, bytes: number): void {
    for (const id of [...this.#held.keys()]) {
      if (this.bytes + bytes <= this.#options.maxBytes) return;
      if (id !== exceptId) this.#discard(id);
    }
  }

  #discard(storeId: string): void {
    const held = this.#held.get(storeId);
    if (held === undefined) return;
    this.#held.delete(storeId);
    void this.#thread.ask("discard", held.name, {}).catch(() => undefined);
  }
}
