import type { ChatEvent, ChatEvents, FinishEvent, Usage } from "../core/chat-event.ts";
import { type ErrorCode, ServiceError, toServiceError } from "../core/service-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Outcome, UsageEntry, UsageRecord, UsageStart } from "../usage/usage-record.ts";
import type { CallObserver } from "./gateway.ts";
import type { Reserved } from "./grant.ts";
import { createTally } from "./tally.ts";

export interface MeteredCall {
  readonly start: UsageStart;
  readonly entry: UsageEntry;
  readonly clock: Clock;
  /** Aborted when the client left, or with a `ServiceError` when the gateway ends the call. */
  readonly signal: AbortSignal;
  /** Told once how many tokens the call is charged, input and output. Never throws. */
  readonly settle: (tokens: number) => void;
  /** Told once, when the row is written. Never throws. */
  readonly count?: ((record: UsageRecord) => void) | undefined;
  readonly observer?: Pick<CallObserver, "meterEnded"> | undefined;
  /** What it cannot have used more of, where its key has a limit on tokens. */
  readonly reserved?: Reserved | undefined;
}

type Step = IteratorResult<readonly ChatEvent[], undefined>;

const DONE: Step = { done: true, value: undefined };
/** The status of a call whose client left before anything was answered. */
const CLIENT_CLOSED_REQUEST = 499;
const PROGRESS_EVERY_MS = 1_000;
const NOTHING_USED: Usage = { inputTokens: 0, outputTokens: 0, estimated: true };
/** After these nobody knows how far the engine was. */
const TIME_OUTS: ReadonlySet<ErrorCode> = new Set(["upstream_timeout", "request_timeout"]);

/**
 * Passes a call's events on and writes its one usage row: before the event that ends the stream is handed out,
 * when the source fails, or when the client leaves. Whatever the source does, what comes out ends with exactly one
 * `finish` or `error`.
 */
export function meter(events: ChatEvents, call: MeteredCall): ChatEvents {
  return new MeteredEvents(events[Symbol.asyncIterator](), call);
}

/** Writes the usage row of a call that failed before its first event. */
export async function meterFailure(call: MeteredCall, error: ServiceError): Promise<void> {
  await new MeteredEvents(undefined, call).fail(error);
}

// A class and not a generator: a generator that was never pulled would never write its row.
class MeteredEvents implements AsyncIterableIterator<readonly ChatEvent[], undefined> {
  readonly #source: AsyncIterator<readonly ChatEvent[]> | undefined;
  readonly #call: MeteredCall;
  readonly #tally: ReturnType<typeof createTally>;
  #firstAt: number | undefined;
  #progressAt: number;
  #closed = false;
  /** Something but an error was handed out, so the client has seen a 200. */
  #answered = false;

  constructor(source: AsyncIterator<readonly ChatEvent[]> | undefined, call: MeteredCall) {
    this.#source = source;
    this.#call = call;
    this.#tally = createTally(call.start.inputTokens, call.reserved);
    this.#progressAt = call.start.startedAt;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    if (this.#closed) return DONE;
    let batch: readonly ChatEvent[];
    try {
      const step = await this.#source?.next();
      batch = step === undefined || step.done === true ? [brokenOff()] : step.value;
    } catch (thrown) {
      const { signal } = this.#call;
      batch = [errorEvent(signal.aborted ? signal.reason : thrown)];
    }
    this.#observe(batch);
    const end = this.#tally.end();
    if (end === undefined) return { done: false, value: this.#withInputTokens(batch) };
    try {
      if (end.type === "error") {
        await this.fail(end.error);
        return { done: false, value: batch };
      }
      await this.#close("ok", 200);
      const told = end.usage ? batch : this.#withUsage(batch, end);
      return { done: false, value: this.#withInputTokens(told) };
    } catch (thrown) {
      // The answer is there but its row is not: the client must not take it for a finished one.
      return { done: false, value: [...batch.slice(0, -1), errorEvent(thrown)] };
    }
  }

  /** The client left. */
  async return(): Promise<Step> {
    const status = this.#firstAt === undefined ? CLIENT_CLOSED_REQUEST : 200;
    await Promise.all([this.#source?.return?.(), this.#close("aborted", status)]);
    return DONE;
  }

  async fail(error: ServiceError): Promise<void> {
    const { signal } = this.#call;
    const clientLeft = signal.aborted && !(signal.reason instanceof ServiceError);
    const outcome = error.status === 429 ? "rate_limited" : "error";
    const status = clientLeft ? CLIENT_CLOSED_REQUEST : error.status;
    // A call that was refused or never reached an engine costs its key nothing: a client that tries again and again
    // while an engine is down would use up its month. One that was ended may have been worked on until then.
    const isUnused = !this.#answered && !signal.aborted && !TIME_OUTS.has(error.code);
    await this.#close(
      clientLeft ? "aborted" : outcome,
      this.#answered ? 200 : status,
      isUnused ? { usage: NOTHING_USED, charge: 0 } : undefined,
    );
  }

  async #close(
    outcome: Outcome,
    status: number,
    { usage, charge } = { usage: this.#tally.usage(), charge: this.#tally.charge() },
  ): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { start, entry, clock, settle, count, observer } = this.#call;
    // Before the row, which may have to be waited for: what the call did not use is free for the next one.
    settle(charge);
    // Field by field: the model of a start may be known only now, and a copy of what computes is slow.
    const record: UsageRecord = {
      id: start.id,
      keyId: start.keyId,
      channel: start.channel,
      model: start.model,
      startedAt: start.startedAt,
      outcome,
      status,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      cachedTokens: usage.cachedTokens ?? 0,
      reasoningTokens: usage.reasoningTokens ?? 0,
      estimated: usage.estimated ?? false,
      latencyMs: clock.now() - start.startedAt,
      firstTokenMs: this.#firstAt === undefined ? null : this.#firstAt - start.startedAt,
    };
    try {
      await entry.close(record);
      count?.(record);
    } finally {
      observer?.meterEnded(record);
    }
  }

  /** A client that asks for usage is told ours when the vendor tells none. */
  #withUsage(batch: readonly ChatEvent[], end: FinishEvent): readonly ChatEvent[] {
    return batch.map((event) => (event === end ? { ...end, usage: this.#tally.usage() } : event));
  }

  /** Some formats tell the prompt's tokens before the answer; ours stand in where the vendor does not say. */
  #withInputTokens(batch: readonly ChatEvent[]): readonly ChatEvent[] {
    const first = batch[0];
    if (first?.type !== "start" || first.inputTokens !== undefined) return batch;
    return [{ ...first, inputTokens: this.#call.start.inputTokens }, ...batch.slice(1)];
  }

  #observe(batch: readonly ChatEvent[]): void {
    this.#tally.observe(batch);
    if (batch[0]?.type === "error") return;
    this.#answered = true;
    const now = this.#call.clock.now();
    this.#firstAt ??= now;
    if (now - this.#progressAt < PROGRESS_EVERY_MS) return;
    this.#progressAt = now;
    this.#call.entry.progress(this.#tally.outputTokensSoFar());
  }
}

function brokenOff(): ChatEvent {
  return errorEvent(new ServiceError("upstream_error", "The engine's answer broke off."));
}

function errorEvent(thrown: unknown): ChatEvent {
  return { type: "error", error: toServiceError(thrown) };
}
