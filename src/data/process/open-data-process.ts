import { ServiceError } from "../../core/service-error.ts";
import type { PlainFields } from "../../lib/log.ts";
import { causeOf, type Log } from "../../lib/log.ts";
import type { Admission } from "../principal.ts";
import { askProcess } from "./ask-process.ts";
import type { DataProcess } from "./data-process.ts";
import {
  type FromProcess,
  type ProcessConfig,
  type Statement,
  TURN_EXIT_CODE,
} from "./process-messages.ts";
import { type StartedProcess, startProcess } from "./start-process.ts";
import { watchCalls } from "./watch-calls.ts";

/** A process that ran for this long starts again at once when it ends; else the pause doubles. */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** Without the port, a process that nobody asks ends after this time. */
const IDLE_MS = 10 * 60_000;
const IDLE_LOOK_MS = 30_000;

export interface DataProcessOptions {
  /** Reads what the process is started with. */
  readonly configure: () => Promise<ProcessConfig>;
  readonly login: (secret: string, address: string) => Promise<Admission>;
  readonly observe: ProcessObserver;
  /** The number of open calls of clients, to which readers give way. */
  readonly clients: () => number;
  readonly log: Log;
}

/** Takes what the process reports. */
export interface ProcessObserver {
  readonly statement: (statement: Statement) => void;
  readonly connections: (open: number) => void;
  readonly refused: (code: string) => void;
}

/** What the port is doing, for `/api/ready`. Undefined where it is not enabled. */
export interface PortState {
  readonly port: number | null;
  /** Why it is closed. */
  readonly failure: string | null;
}

export interface OpenedDataProcess extends DataProcess {
  readonly portState: () => PortState;
  /** Starts the process now and keeps it running. */
  readonly keep: () => void;
  readonly close: () => Promise<void>;
}

/** Watches the data process: starts it when it is needed, again when it ends, and speaks with it. */
export function openDataProcess(options: DataProcessOptions): OpenedDataProcess {
  return new WatchedProcess(options);
}

class WatchedProcess implements OpenedDataProcess {
  readonly #options: DataProcessOptions;
  readonly #listeners: (() => void)[] = [];
  #opened: Promise<ProcessConfig> | undefined;
  #process: StartedProcess | undefined;
  #state: PortState = { port: null, failure: "it is starting" };
  #isKept = false;
  #isClosed = false;
  #pauseMs = 0;
  #again: NodeJS.Timeout | undefined;
  #asked = 0;
  #lastAskedAt = performance.now();
  readonly #idle: NodeJS.Timeout;
  readonly #endWatch: () => void;

  constructor(options: DataProcessOptions) {
    this.#options = options;
    const { clients } = options;
    this.#endWatch = watchCalls({
      clients,
      tell: (lateMs) => this.#process?.send({ type: "calls", lateMs }),
    });
    this.#idle = setInterval(() => this.#endWhenIdle(), IDLE_LOOK_MS).unref();
  }

  portState = (): PortState => this.#state;
  isRunning = (): boolean => this.#process !== undefined;
  onStarted = (listener: () => void): void => void this.#listeners.push(listener);

  keep = (): void => {
    this.#isKept = true;
    this.#open().catch(() => undefined);
  };

  end: DataProcess["end"] = (principalIds, reason) =>
    this.#process?.send({ type: "end", principalIds, reason });

  request: DataProcess["request"] = async (path, body, signal) => {
    this.#asked += 1;
    const isDone = () => {
      this.#asked -= 1;
      this.#lastAskedAt = performance.now();
    };
    try {
      const { socketPath } = await this.#open();
      return await askProcess(socketPath, { path, body, isDone }, signal);
    } catch (thrown) {
      isDone();
      signal.throwIfAborted();
      if (thrown instanceof ServiceError) throw thrown;
      this.#options.log.warn({ cause: causeOf(thrown) }, "the data process does not answer");
      throw away();
    }
  };

  close = async (): Promise<void> => {
    this.#isClosed = true;
    this.#endWatch();
    clearInterval(this.#idle);
    clearTimeout(this.#again);
    await this.#opened?.catch(() => undefined);
    await this.#process?.stop();
  };

  #open(): Promise<ProcessConfig> {
    if (this.#isClosed) return Promise.reject(away());
    this.#opened ??= this.#start().catch((thrown: unknown) => {
      this.#options.log.error({ cause: causeOf(thrown) }, "the data process did not start");
      this.#state = { port: null, failure: "its process did not start; see the log" };
      this.#process = undefined;
      this.#opened = undefined;
      this.#startLater();
      throw away();
    });
    return this.#opened;
  }

  /** Resolves when the process serves its socket. */
  async #start(): Promise<ProcessConfig> {
    clearTimeout(this.#again);
    const config = await this.#options.configure();
    const beganAt = performance.now();
    const started = startProcess(config, (message) => this.#receive(started, message));
    this.#process = started;
    void started.ended.then((cause) => this.#ended(started, cause, performance.now() - beganAt));
    await started.opened;
    for (const listener of this.#listeners) listener();
    return config;
  }

  #receive(process: StartedProcess, message: FromProcess): void {
    const { observe, log, login } = this.#options;
    switch (message.type) {
      case "open":
        this.#state = { port: message.port, failure: message.failure };
        if (message.port !== null)
          log.info({ port: message.port }, "PostgreSQL clients are served");
        if (message.failure !== null) log.error({ part: "bi" }, message.failure);
        return;
      case "login":
        void login(message.secret, message.address)
          .catch((thrown: unknown): Admission => {
            log.warn({ cause: causeOf(thrown) }, "a BI key could not be checked");
            return { refusal: { code: "57P03", message: "The key cannot be checked now; retry." } };
          })
          .then((admission) => process.send({ type: "admission", id: message.id, admission }));
        return;
      case "statement":
        observe.statement(message.statement);
        return;
      case "connections":
        observe.connections(message.open);
        return;
      case "refused":
        observe.refused(message.code);
        return;
      case "log":
        log[message.level]({ part: "bi", ...(message.fields as PlainFields) }, message.text);
    }
  }

  #ended(process: StartedProcess, cause: string, ranMs: number): void {
    if (this.#process !== process) return;
    this.#process = undefined;
    this.#opened = undefined;
    this.#options.observe.connections(0);
    if (this.#isClosed) return;
    this.#state = { port: null, failure: "its process is being started again" };
    const isTurn = cause === `exit code ${TURN_EXIT_CODE}`;
    if (isTurn || ranMs > STEADY_MS) this.#pauseMs = 0;
    const text = isTurn
      ? "the data process ended with a statement that could not be stopped otherwise"
      : "the data process ended";
    this.#options.log[isTurn ? "info" : "error"]({ cause }, text);
    this.#startLater();
  }

  #startLater(): void {
    if (!this.#isKept || this.#isClosed) return;
    this.#again = setTimeout(() => void this.#open().catch(() => undefined), this.#pauseMs);
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, this.#pauseMs * 2));
  }

  #endWhenIdle(): void {
    const isIdle = this.#asked === 0 && performance.now() - this.#lastAskedAt > IDLE_MS;
    if (this.#isKept || !isIdle) return;
    const process = this.#process;
    this.#process = undefined;
    this.#opened = undefined;
    void process?.stop();
  }
}

function away(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "The process that reads data does not run now; it is started again. Retry in a few seconds.",
    { retryAfterSeconds: 2 },
  );
}
