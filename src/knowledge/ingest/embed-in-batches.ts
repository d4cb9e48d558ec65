import { setTimeout as sleep } from "node:timers/promises";
import { ServiceError } from "../../core/service-error.ts";
import { limitSignal } from "../../lib/http/limit-signal.ts";
import { cutText } from "../../lib/text/cut-text.ts";
import type { Embedder } from "../embed-texts.ts";
import { halveRefused, isTooMuch } from "../halve-refused.ts";

/** Passages in one request to the embedding engine, at first and at most. */
const BATCH_TEXTS = 64;
/** After so many accepted requests a batch that was made smaller is doubled again. */
const REQUESTS_BEFORE_GROWTH = 16;
const REQUEST_TIMEOUT_MS = 120_000;
/**
 * Pauses while the engine is unavailable, two minutes in total. A try of a file waits here, so that an outage does not
 * use up the tries of every file that waits its turn.
 */
const AWAY_PAUSES_MS = [1_000, 2_000, 5_000, 10_000, 20_000, 20_000, 30_000, 30_000] as const;
/**
 * While chat calls are in progress: so many passages in a request, because neither the engine nor this process may be
 * held for long, and the pause before each request, and between two looks whether it is its turn.
 */
const BUSY_BATCH_TEXTS = 16;
const BUSY_PAUSE_MS = 25;
const TURN_LOOK_MS = 5;
export interface BatchEmbedderOptions {
  readonly embedder: Pick<Embedder, "embedPassages">;
  /** Whether chat calls are in progress: then one request at a time is sent, and not at once. */
  readonly isBusy: () => boolean;
  /** OUTBOX_BACKOFF_SCALE: of the pauses while the engine is unavailable. */
  readonly scale: number;
}

/**
 * Embeds the first texts of a list, as many as the engine takes in one request, and returns their vectors: at least one.
 * Waits for an engine that is unavailable. Rejects with a `ServiceError` when that lasts for minutes, or when the engine
 * refuses the first text in any length, and with the signal's reason.
 */
export type EmbedFirst = (
  model: string,
  texts: readonly string[],
  signal: AbortSignal,
) => Promise<readonly Float32Array[]>;

/** Creates the one way of a process to the embedding engine for all files that it ingests. */
export function createBatchEmbedder({ embedder, isBusy, scale }: BatchEmbedderOptions): EmbedFirst {
  const inTurn = takeTurnsWithChat(isBusy);
  const size = createBatchSize(isBusy);
  const embed = (model: string, texts: readonly string[], signal: AbortSignal) =>
    inTurn(signal, async () => {
      const limited = limitSignal(signal, REQUEST_TIMEOUT_MS);
      try {
        return await embedder.embedPassages(model, texts, limited);
      } catch (thrown) {
        throw limited.aborted && !signal.aborted ? tooLate(thrown) : thrown;
      }
    });
  return async (model, texts, signal) => {
    let batch = texts.slice(0, size.now());
    for (let failures = 0; ; ) {
      try {
        const vectors = await embed(model, batch, signal);
        size.accepted(batch.length);
        return vectors;
      } catch (thrown) {
        signal.throwIfAborted();
        if (mayTakeFewer(thrown, batch.length)) {
          size.refused(batch.length);
          batch = texts.slice(0, size.now());
        } else if (isTooMuch(thrown)) {
          // The vector of a beginning is better than none.
          batch = batch.map((text) => cutText(text, halveRefused(text, thrown)));
        } else {
          await sleep(awayPauseMs(failures, thrown) * scale, undefined, { signal });
          failures += 1;
        }
      }
    }
  };
}

function tooLate(cause: unknown): ServiceError {
  const message = `The embedding engine did not answer within ${REQUEST_TIMEOUT_MS / 1_000} s.`;
  return new ServiceError("upstream_timeout", message, { cause });
}

/** A slow engine may embed fewer texts in time, while a single one shows that it is away. */
function mayTakeFewer(thrown: unknown, texts: number): boolean {
  const isLate = thrown instanceof ServiceError && thrown.code === "upstream_timeout";
  return texts > 1 && (isLate || isTooMuch(thrown));
}

/** Returns the pause after a number of failures. Throws the failure when there is none left. */
function awayPauseMs(failures: number, thrown: unknown): number {
  const pauseMs = AWAY_PAUSES_MS[failures];
  if (pauseMs === undefined) throw thrown;
  return pauseMs;
}

/** How many texts the engine takes: halved by each refusal, and doubled after some requests without one. */
function createBatchSize(isBusy: () => boolean) {
  let size = BATCH_TEXTS;
  let accepted = 0;
  return {
    now: () => (isBusy() ? Math.min(BUSY_BATCH_TEXTS, size) : size),
    refused(texts: number) {
      size = Math.max(1, Math.floor(texts / 2));
      accepted = 0;
    },
    accepted(texts: number) {
      // What is smaller for another reason shows nothing.
      if (texts < size) return;
      accepted += 1;
      if (accepted < REQUESTS_BEFORE_GROWTH) return;
      size = Math.min(BATCH_TEXTS, size * 2);
      accepted = 0;
    },
  };
}

/** Lets work run side by side while no chat call is in progress, and else one after another, with pauses. */
function takeTurnsWithChat(isBusy: () => boolean) {
  let running = 0;
  return async <Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> => {
    if (isBusy()) await sleep(BUSY_PAUSE_MS, undefined, { signal });
    while (running > 0 && isBusy()) await sleep(TURN_LOOK_MS, undefined, { signal });
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };
}
