import { Worker } from "node:worker_threads";
import { type Hits, StaleStore, type WeightedWord, type WordCounts } from "../searched-store.ts";

/** A chunk on its way into memory. */
export interface LoadedChunk {
  readonly id: number;
  /** The number of its file in this store. */
  readonly file: number;
  /** The output of `array_send`, in base64. */
  readonly vector: string;
  /** The output of `tsvectorsend`, in base64. */
  readonly words: string;
}

export interface Wanted {
  readonly vector: Float32Array;
  readonly words: readonly WeightedWord[];
  /** Numbers of the files to search in; undefined: all. */
  readonly files: Uint32Array | undefined;
  /** Chunks by cosine, and as many by words. */
  readonly limit: number;
}

interface Requests {
  readonly create: { readonly dimensions: number };
  readonly add: { readonly chunks: readonly LoadedChunk[] };
  readonly remove: { readonly files: readonly number[] };
  readonly discard: object;
  readonly count: { readonly words: readonly string[] };
  readonly search: { readonly wanted: Wanted };
}

/** What the thread answers. `add` and `remove` return the bytes that the store takes. */
interface Results {
  readonly create: undefined;
  readonly add: number;
  readonly remove: number;
  readonly discard: undefined;
  readonly count: WordCounts;
  readonly search: Hits;
}

type Kind = keyof Requests;

export type Request = {
  [K in Kind]: { readonly kind: K; readonly store: string } & Requests[K];
}[Kind];

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly failure?: string;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: Error) => void;
}

/**
 * The thread that holds and searches vectors. It starts with the first request, and again with the first one after it
 * was lost.
 */
export class MemoryThread {
  readonly #onLost: (cause: string) => void;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | undefined;
  #requests = 0;

  /** `onLost` is called when the thread ended with all that it held. */
  constructor(onLost: (cause: string) => void) {
    this.#onLost = onLost;
  }

  /** Rejects with `StaleStore` when the thread does not have the store, fails or is lost. */
  ask<K extends Kind>(kind: K, store: string, request: Requests[K]): Promise<Results[K]> {
    this.#worker ??= this.#start();
    this.#requests += 1;
    const id = this.#requests;
    this.#worker.postMessage({ id, request: { kind, store, ...request } });
    return new Promise<unknown>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    }) as Promise<Results[K]>;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL("./memory-worker.mjs", import.meta.url), { execArgv: [] });
    let cause = "its thread ended";
    worker.on("message", ({ id, result, failure }: Reply) => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (failure === undefined) pending?.resolve(result);
      else pending?.reject(new StaleStore(failure));
    });
    worker.on("error", (error: Error) => {
      cause = error.message;
    });
    worker.once("exit", () => this.#end(worker, cause));
    // A server that stops does not wait for it.
    worker.unref();
    return worker;
  }

  #end(worker: Worker, cause: string): void {
    const isLost = this.#worker === worker;
    if (isLost) this.#worker = undefined;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(new StaleStore(cause));
    if (isLost) this.#onLost(cause);
  }
}
