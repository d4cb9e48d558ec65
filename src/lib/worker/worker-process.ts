import { JobInputs } from "./job-inputs.ts";
import { MessageReader, type Received, sendMessage, type WorkerMessage } from "./messages.ts";
import { type ChildProgram, spawnProgram } from "./spawn-program.ts";
import { residentBytes, watchMemory } from "./watch-memory.ts";
import { WorkFailure, type WorkFailureReason } from "./work-failure.ts";

/** A longer message counts as excess output: the server holds one in memory. */
const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;
/** The part of the memory limit that the runtime may use for its heap: it collects garbage before the limit. */
const HEAP_SHARE = 0.75;
/** A process that kept more than this part of the limit after a job is not used again. */
const REUSE_SHARE = 0.5;
/** A longer timer fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export interface WorkerProgram {
  /** Path of a module that calls `serveJobs`. */
  readonly program: string;
  /** Resident memory of one process at most. */
  readonly memoryBytes: number;
  /** Nobody waits for the jobs: calls go before them where processor time is short. */
  readonly isBackground?: boolean;
}

export interface JobLimits {
  /** Aborting kills the process; the job then throws the signal's reason. */
  readonly signal: AbortSignal;
  /**
   * Milliseconds of waiting for the process. What the consumer does between two results does not count, nor the time
   * that an input takes to bring its next part.
   */
  readonly timeMs: number;
  /** Milliseconds without any message of the process, within `timeMs`; default the same. */
  readonly silenceMs?: number;
  /** What the job pulls by these names, part by part. Each is read at most once, one part ahead of the process. */
  readonly inputs?: Readonly<Record<string, AsyncIterable<Uint8Array>>>;
  /** Bytes of all results. */
  readonly outputBytes: number;
}

/** A process that does one job at a time. Once it was killed or has ended it is not usable any more. */
export class WorkerProcess {
  readonly #child: ChildProgram;
  readonly #memoryBytes: number;
  readonly #reads: AsyncIterator<Uint8Array>;
  readonly #ended: Promise<string>;
  readonly #messageReader = new MessageReader<WorkerMessage>(MESSAGE_MAX_BYTES);
  #killedFor: WorkFailureReason | undefined;
  #isUsable = true;

  constructor({ program, memoryBytes, isBackground = false }: WorkerProgram) {
    this.#memoryBytes = memoryBytes;
    this.#child = spawnProgram(program, { heapBytes: memoryBytes * HEAP_SHARE, isBackground });
    this.#reads = this.#child.stdout[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => {
      this.#child.once("error", (error) => resolve(error.message));
      this.#child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    void this.#ended.then(() => {
      this.#isUsable = false;
    });
    this.#child.stdin.on("error", () => undefined);
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Yields the results of a job. A consumer that stops early kills the process. Throws a `WorkFailure`. */
  async *run(job: unknown, limits: JobLimits): AsyncGenerator<unknown> {
    const { signal } = limits;
    signal.throwIfAborted();
    const inputs = new JobInputs(limits.inputs ?? {});
    const abort = () => this.#kill("closed");
    signal.addEventListener("abort", abort, { once: true });
    const { pid = 0 } = this.#child;
    const endWatch = watchMemory(pid, this.#memoryBytes, () => this.#kill("memory"));
    let hasEnded = false;
    try {
      void sendMessage(this.#child.stdin, { job });
      for await (const { head, data } of this.#messages(limits)) {
        signal.throwIfAborted();
        if ("needs" in head) {
          await this.#feed(inputs, head.needs);
          continue;
        }
        hasEnded = !("result" in head);
        if ("failure" in head)
          throw new WorkFailure("failed", head.failure.message, head.failure.code);
        if ("isDone" in head) return;
        yield data === undefined ? head.result : { ...(head.result as object), data };
      }
      signal.throwIfAborted();
      throw await this.#failure();
    } finally {
      signal.removeEventListener("abort", abort);
      endWatch();
      inputs.close();
      if (!hasEnded || residentBytes(pid) > this.#memoryBytes * REUSE_SHARE) this.close();
    }
  }

  close(): void {
    this.#kill("closed");
  }

  /** Sends the next part of an input. Throws what the input throws. */
  async #feed(inputs: JobInputs, name: string): Promise<void> {
    const part = await this.#whileAlive(inputs.next(name));
    if (!this.#isUsable) return;
    if (part === null) void sendMessage(this.#child.stdin, { isEnd: true });
    else void sendMessage(this.#child.stdin, { bytes: part.length }, part);
  }

  /**
   * Settles as `part` does, or with null when the process ends. It keeps nothing: a race against `#ended` would
   * hold every part until then.
   */
  #whileAlive(part: Promise<Uint8Array | null>): Promise<Uint8Array | null> {
    if (!this.#isUsable) {
      // Its failure concerns no job any more.
      part.catch(() => undefined);
      return Promise.resolve(null);
    }
    return new Promise((resolve, reject) => {
      const end = () => resolve(null);
      this.#child.once("exit", end);
      void part.then(resolve, reject).finally(() => this.#child.off("exit", end));
    });
  }

  /** Ends when the process has ended. */
  async *#messages(limits: JobLimits): AsyncGenerator<Received<WorkerMessage>, void> {
    const { silenceMs = limits.timeMs } = limits;
    let leftMs = limits.timeMs;
    let leftBytes = limits.outputBytes;
    for (;;) {
      const startedMs = performance.now();
      const timer = setTimeout(() => this.#kill("time"), Math.min(leftMs, silenceMs, TIMER_MAX_MS));
      const read = await this.#reads.next().catch(() => undefined);
      clearTimeout(timer);
      leftMs = Math.max(0, leftMs - (performance.now() - startedMs));
      if (read === undefined || read.done === true) return;
      leftBytes -= read.value.length;
      const messages = this.#messageReader.read(read.value);
      if (leftBytes < 0 || this.#messageReader.tooLong) return this.#kill("output");
      yield* messages;
    }
  }

  async #failure(): Promise<WorkFailure> {
    const end = await this.#ended;
    // V8 aborts the process when its heap is full.
    const reason = this.#killedFor ?? (end === "SIGABRT" ? "memory" : "crashed");
    return new WorkFailure(reason, `The worker process ended: ${this.#killedFor ?? end}.`);
  }

  #kill(reason: WorkFailureReason): void {
    if (!this.#isUsable) return;
    this.#isUsable = false;
    this.#killedFor = reason;
    this.#child.kill("SIGKILL");
  }
}
