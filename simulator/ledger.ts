import { createHash } from "node:crypto";
import type { HttpRequest } from "./http/request-reader.ts";

const ENTRIES_LIMIT = 200_000;
const BODY_KEPT_BYTES = 1024 * 1024;
const BODIES_KEPT_BYTES = 128 * 1024 * 1024;

export interface Usage {
  /** Includes tokens read from and written to the cache. */
  readonly inputTokens: number;
  /** Includes reasoning tokens. */
  readonly outputTokens: number;
  readonly cachedTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

/**
 * How an answer ended. complete: its proper end was written. client-left: the client closed first. All others: a
 * script's fault.
 */
export type End = "complete" | "client-left" | "reset" | "fin" | "cut";

/** One request as the simulator received and answered it. Times are Unix milliseconds. */
export interface LedgerEntry {
  readonly id: string;
  /** The number of the request in order of arrival, from 1. */
  readonly sequence: number;
  readonly method: string;
  readonly path: string;
  /** The query string without the question mark; empty when there is none. */
  readonly query: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly bodyBytes: number;
  readonly bodySha256: string;
  /** The body as text; undefined when it exceeds 1 MiB or the total memory for bodies is used up. */
  body: string | undefined;
  readonly beganAt: number;
  model: string | undefined;
  status: number | undefined;
  /** The usage that was written to the client; undefined when none was. */
  told: Usage | undefined;
  /** Tokens of the prompt in the engine's cache, reported or not; undefined for requests without a prompt. */
  cachedTokens?: number;
  /** Tokens of the answer sent so far. */
  sentTokens: number;
  /** Events of the stream sent so far. */
  sentEvents: number;
  firstByteAt: number | undefined;
  endedAt: number | undefined;
  end: End | undefined;
}

/** The record of every request, in order. It is bounded and drops the oldest entries first. */
export class Ledger {
  entries: LedgerEntry[] = [];
  forgotten = 0;
  #sequence = 0;
  #bodiesBytes = 0;

  open(request: HttpRequest): LedgerEntry {
    this.#sequence += 1;
    const entry: LedgerEntry = {
      id: `sim-${String(this.#sequence).padStart(8, "0")}`,
      sequence: this.#sequence,
      method: request.method,
      path: request.path,
      query: request.query.toString(),
      headers: request.headers,
      bodyBytes: request.body.length,
      bodySha256: createHash("sha256").update(request.body).digest("hex"),
      body: this.#keepBody(request.body),
      beganAt: Date.now(),
      model: undefined,
      status: undefined,
      told: undefined,
      sentTokens: 0,
      sentEvents: 0,
      firstByteAt: undefined,
      endedAt: undefined,
      end: undefined,
    };
    this.entries.push(entry);
    if (this.entries.length > ENTRIES_LIMIT) this.#forgetOldest();
    return entry;
  }

  close(entry: LedgerEntry, end: End): void {
    if (entry.end !== undefined) return;
    entry.end = end;
    entry.endedAt = Date.now();
  }

  clear(): void {
    this.entries = [];
    this.forgotten = 0;
    this.#bodiesBytes = 0;
  }

  #keepBody(body: Buffer): string | undefined {
    if (body.length > BODY_KEPT_BYTES || this.#bodiesBytes + body.length > BODIES_KEPT_BYTES) {
      return undefined;
    }
    this.#bodiesBytes += body.length;
    return body.toString("utf8");
  }

  #forgetOldest(): void {
    const leaving = this.entries.splice(0, ENTRIES_LIMIT / 10);
    this.forgotten += leaving.length;
    for (const entry of leaving) if (entry.body !== undefined) this.#bodiesBytes -= entry.bodyBytes;
  }
}
