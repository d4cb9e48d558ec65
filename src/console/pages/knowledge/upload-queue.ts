import type { Chunking } from "../../api/queries/store-files.ts";

/** One file on its way into a store. */
export interface Upload {
  readonly id: number;
  readonly file: File;
  readonly chunking: Chunking | undefined;
  readonly state: "waiting" | "sending" | "adding" | "added" | "failed";
  /** Bytes that were sent. */
  readonly sent: number;
  readonly error?: unknown;
}

/** Uploads at once: the server has places for 20 of one user, and a browser six connections for all of its calls. */
const AT_ONCE = 3;

/** What happens on the way of one upload. */
export interface Sending {
  readonly signal: AbortSignal;
  readonly onProgress: (sent: number) => void;
  /** All of it has arrived. */
  readonly onAdding: () => void;
}

/** Brings one file into the store. Rejects with what its row can show. */
export type SendUpload = (upload: Upload, sending: Sending) => Promise<void>;

/** Clears up after an upload that is taken off the list and is not in the store. */
export type ForgetUpload = (upload: Upload) => void;

/** The uploads into one store. Each ends by itself: one that fails holds up no other. */
export class UploadQueue {
  readonly #listeners = new Set<() => void>();
  readonly #running = new Map<number, AbortController>();
  readonly #send: SendUpload;
  readonly #forget: ForgetUpload;
  #uploads: readonly Upload[] = [];
  #nextId = 1;

  constructor(send: SendUpload, forget: ForgetUpload = () => undefined) {
    this.#send = send;
    this.#forget = forget;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly list = (): readonly Upload[] => this.#uploads;

  add(files: readonly File[], chunking: Chunking | undefined): void {
    const added = files.map(
      (file): Upload => ({ id: this.#nextId++, file, chunking, state: "waiting", sent: 0 }),
    );
    this.#publish([...this.#uploads, ...added]);
    this.#fill();
  }

  retry(id: number): void {
    this.#change(id, { state: "waiting", sent: 0, error: undefined });
    this.#fill();
  }

  /** Whether some have not ended. */
  isBusy(): boolean {
    return this.#uploads.some(({ state }) => state !== "added" && state !== "failed");
  }

  /** Ends an upload that is under way, and takes it off the list. */
  remove(id: number): void {
    this.#running.get(id)?.abort();
    this.#drop((upload) => upload.id === id);
  }

  /** Takes those off the list that have ended. */
  clear(): void {
    this.#drop(({ state }) => state === "added" || state === "failed");
  }

  /** Ends all that have not ended. */
  stop(): void {
    for (const controller of this.#running.values()) controller.abort();
    this.#drop(({ state }) => state !== "added" && state !== "failed");
  }

  #drop(isMeant: (upload: Upload) => boolean): void {
    const dropped = this.#uploads.filter(isMeant);
    this.#publish(this.#uploads.filter((upload) => !isMeant(upload)));
    for (const upload of dropped) {
      // What is being added cannot be called back.
      if (upload.state !== "added" && upload.state !== "adding") this.#forget(upload);
    }
  }

  #fill(): void {
    while (this.#running.size < AT_ONCE) {
      const next = this.#uploads.find(({ state }) => state === "waiting");
      if (next === undefined) return;
      void this.#run(next);
    }
  }

  async #run(upload: Upload): Promise<void> {
    const controller = new AbortController();
    this.#running.set(upload.id, controller);
    this.#change(upload.id, { state: "sending" });
    try {
      await this.#send(upload, {
        signal: controller.signal,
        onProgress: (sent) => this.#change(upload.id, { sent }),
        onAdding: () => this.#change(upload.id, { state: "adding", sent: upload.file.size }),
      });
      this.#change(upload.id, { state: "added" });
    } catch (error) {
      this.#change(upload.id, { state: "failed", error });
    }
    this.#running.delete(upload.id);
    this.#fill();
  }

  #change(id: number, change: Partial<Upload>): void {
    this.#publish(
      this.#uploads.map((upload) => (upload.id === id ? { ...upload, ...change } : upload)),
    );
  }

  #publish(uploads: readonly Upload[]): void {
    this.#uploads = uploads;
    for (const listener of this.#listeners) listener();
  }
}
