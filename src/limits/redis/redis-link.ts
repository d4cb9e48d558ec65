import { Redis } from "ioredis";
import { ServiceError } from "../../core/service-error.ts";
import type { Log } from "../../lib/log.ts";
import { watchTime } from "../../lib/time/watch-time.ts";
import { within } from "../../lib/time/within.ts";

/** Redis answers in a fraction of a millisecond; a server without any answer for this long hangs. */
const ANSWER_TIMEOUT_MS = 450;
/** Maximum of callers that wait for an answer; further ones are refused instead of piling up. */
const WAITING_MAX = 20_000;
const RECONNECT_PAUSE_MS = 250;
const CONNECT_TIMEOUT_MS = 1_000;
/** Pause between two probes of a server that hung. */
const PROBE_PAUSE_MS = 250;
/** A connection that hung for this long is replaced. */
const HANG_MAX_MS = 5_000;
/** Interval between two log lines about refused commands. */
const REFUSAL_LOG_MS = 60_000;

/** The connection to Redis or Valkey. While it is down every command fails immediately. */
export interface RedisLink {
  /** Resolves with the result of `command`. Rejects with `storage_unavailable`, within half a second. */
  readonly run: <Result>(command: (redis: Redis) => Promise<Result>) => Promise<Result>;
  readonly isUp: () => boolean;
  /** When the connection last opened again after it was lost, by the process's own clock; -Infinity: never. */
  readonly roseAt: () => number;
  readonly close: () => void;
}

export interface RedisLinkOptions {
  /** REDIS_URL. */
  readonly url: string;
  readonly log: Log;
  /** Called whenever commands can be sent again. */
  readonly onUp: () => void;
}

/** Resolves when the connection is open, or has failed; it is then opened in the background. */
export async function openRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const link = new Link(options);
  await link.firstAnswer;
  return link;
}

interface Waiting {
  readonly sentAt: number;
  readonly reject: (error: ServiceError) => void;
}

class Link implements RedisLink {
  readonly firstAnswer: Promise<void>;
  readonly #options: RedisLinkOptions;
  readonly #redis: Redis;
  /** In the order sent, which is the order of the answers. */
  readonly #waiting = new Set<Waiting>();
  readonly #stopWatch: () => void;
  #answered: () => void = () => undefined;
  #answeredAt = 0;
  #isUp = false;
  #roseAt = -Infinity;
  #isClosed = false;
  /** The logged state; undefined before the first answer. */
  #isToldUp: boolean | undefined;
  #refusalToldAt = -Infinity;
  #connectionFailure = "the connection broke off";

  constructor(options: RedisLinkOptions) {
    this.#options = options;
    this.firstAnswer = new Promise((resolve) => {
      this.#answered = resolve;
    });
    this.#redis = new Redis(options.url, {
      // A late answer is a refusal to the caller, so commands are neither queued nor sent twice.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: RECONNECT_PAUSE_MS,
      maxLoadingRetryTime: RECONNECT_PAUSE_MS,
      retryStrategy: () => RECONNECT_PAUSE_MS,
      // The server became a replica, so the name now resolves to another one.
      reconnectOnError: ({ message }) => message.startsWith("READONLY"),
      keepAlive: HANG_MAX_MS,
      disableClientInfo: true,
      connectionName: "inference-gateway",
    });
    this.#redis.on("error", (error: Error) => {
      this.#connectionFailure = failureOf(error);
    });
    this.#redis.on("connect", () => this.#watchGreeting());
    this.#redis.on("ready", () => this.#rise());
    this.#redis.on("close", () => this.#fall(this.#connectionFailure));
    this.#redis.on("end", () => this.#connectAgain());
    this.#stopWatch = watchTime((now) => this.#look(now));
  }

  isUp(): boolean {
    return this.#isUp;
  }

  roseAt(): number {
    return this.#roseAt;
  }

  run<Result>(command: (redis: Redis) => Promise<Result>): Promise<Result> {
    if (!this.#isUp || this.#waiting.size >= WAITING_MAX) return Promise.reject(unavailable());
    return new Promise((resolve, reject) => {
      const waiting = { sentAt: performance.now(), reject };
      this.#waiting.add(waiting);
      command(this.#redis).then(
        (result) => {
          this.#waiting.delete(waiting);
          this.#answeredAt = performance.now();
          resolve(result);
        },
        (thrown: unknown) => {
          this.#waiting.delete(waiting);
          this.#noteRefusal(thrown);
          reject(unavailable(thrown));
        },
      );
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#stopWatch();
    this.#redis.disconnect();
    this.#failWaiting();
  }

  #look(now: number): void {
    const [oldest] = this.#waiting;
    if (oldest === undefined) return;
    const answeredAt = this.#answeredAt;
    if (now - Math.max(oldest.sentAt, answeredAt) < ANSWER_TIMEOUT_MS) return;
    // After a pause of this process the answer may have arrived unread: read it first.
    setImmediate(() => {
      if (this.#waiting.has(oldest) && this.#answeredAt === answeredAt) this.#hang();
    });
  }

  #hang(): void {
    if (!this.#isUp) return;
    this.#fall(`no answer within ${ANSWER_TIMEOUT_MS} ms`);
    void this.#probe(performance.now() + HANG_MAX_MS);
  }

  /**
   * Commands of one connection are answered in order, so an answered probe proves that the earlier ones are finished.
   */
  async #probe(until: number): Promise<void> {
    while (!this.#isClosed && !this.#isUp && this.#redis.status === "ready") {
      const ping = within(this.#redis.ping(), CONNECT_TIMEOUT_MS, unavailable);
      const isThere = await ping.then(
        () => true,
        () => false,
      );
      if (isThere) this.#rise();
      else if (performance.now() > until) this.#redis.disconnect(true);
      await new Promise((resolve) => setTimeout(resolve, PROBE_PAUSE_MS).unref());
    }
  }

  /** A server that accepts a connection and does not answer counts as down. */
  #watchGreeting(): void {
    setTimeout(() => {
      if (!this.#isClosed && this.#redis.status === "connect") this.#redis.disconnect(true);
    }, CONNECT_TIMEOUT_MS).unref();
  }

  #rise(): void {
    if (this.#isUp || this.#isClosed) return;
    this.#isUp = true;
    this.#connectionFailure = "the connection broke off";
    const { log, onUp } = this.#options;
    if (this.#isToldUp === false) {
      this.#roseAt = performance.now();
      log.info("Redis is reachable again; keys with limits are accepted");
    }
    this.#isToldUp = true;
    this.#answered();
    onUp();
  }

  #fall(cause: string): void {
    this.#isUp = false;
    this.#failWaiting();
    this.#answered();
    if (this.#isToldUp === false || this.#isClosed) return;
    this.#isToldUp = false;
    this.#options.log.warn(
      { cause },
      "Redis at REDIS_URL is unreachable: keys with limits are refused, others are not affected",
    );
  }

  #failWaiting(): void {
    for (const { reject } of this.#waiting) reject(unavailable());
    this.#waiting.clear();
  }

  /** The driver stops permanently when it is disconnected while it connects. */
  #connectAgain(): void {
    if (this.#isClosed) return;
    setTimeout(() => {
      if (!this.#isClosed) this.#redis.connect().catch(() => undefined);
    }, RECONNECT_PAUSE_MS).unref();
  }

  #noteRefusal(thrown: unknown): void {
    const now = performance.now();
    if (!this.#isUp || now - this.#refusalToldAt < REFUSAL_LOG_MS) return;
    this.#refusalToldAt = now;
    this.#options.log.error(
      { cause: failureOf(thrown) },
      "Redis rejects the commands that count limits",
    );
  }
}

/** Returns only the message: the driver's errors contain the command, which may be the password. */
function failureOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { message } = thrown;
  return message !== "" ? message : String("code" in thrown ? thrown.code : thrown.name);
}

function unavailable(cause?: unknown): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "The limits of this API key cannot be checked now, the gateway's Redis is not reachable.",
    {
      retryAfterSeconds: 1,
      ...(cause !== undefined && { cause: new Error(failureOf(cause)) }),
    },
  );
}
