import type { ChatEvent, ChatEvents, FinishEvent } from "../../core/chat/chat-event.ts";
import type { Usage } from "../../core/chat/usage.ts";
import { ServiceError, toServiceError } from "../../core/service-error.ts";
import {
  nextOf,
  type ReceivingSource,
  receive,
  type Source,
  type Taker,
} from "../../lib/receive.ts";
import type { CallMeter } from "./call-meter.ts";

type Step = IteratorResult<readonly ChatEvent[], undefined>;

/**
 * The part of a call that a stream of events covers: the whole call, one round of several, or all of several rounds.
 */
type Scope = "call" | "round" | "rounds";

const DONE: Step = { done: true, value: undefined };

/**
 * Forwards the events of a call of one round and writes its usage row. The row is written before the event that ends
 * the stream is returned, when the source fails, or when the client disconnects. The returned stream always ends with
 * exactly one `finish` or `error`. Rejects with the `ServiceError` of a call that fails before its first event.
 */
export async function meterCall(
  meter: CallMeter,
  answering: Promise<ChatEvents>,
  scope: "call" | "rounds" = "call",
): Promise<ChatEvents> {
  try {
    return new MeteredEvents(await answering, meter, scope);
  } catch (thrown) {
    return failMetered(meter, thrown);
  }
}

/**
 * Does the same as `meterCall` for a call whose events come from several metered rounds. Its end has the usage of all
 * rounds.
 */
export function meterRounds(meter: CallMeter, answering: Promise<ChatEvents>): Promise<ChatEvents> {
  return meterCall(meter, answering, "rounds");
}

/**
 * Counts one round of several. The stream ends with exactly one `finish` or `error`; the call and its row stay open.
 */
export function meterRound(meter: CallMeter, events: ChatEvents): ChatEvents {
  return new MeteredEvents(events, meter, "round");
}

interface AnswerUsage {
  readonly usage: Usage;
  /** The tokens that limits are charged, if they are more than those of the row. */
  readonly charge?: number;
  /** `error` for an answer that reports a failure. */
  readonly outcome?: "ok" | "error";
}

/**
 * Writes the usage row of a call with a non-streamed answer, and resolves with the answer once the row is stored. A
 * failed call has a row too. Rejects with a `ServiceError`.
 *
 * @param isAnswered returns true once the client has received a status of 200, ahead of the answer.
 */
export async function meterWhole<Answer>(
  meter: CallMeter,
  answering: Promise<Answer>,
  usageOf: (answer: Answer) => AnswerUsage,
  isAnswered: () => boolean = () => false,
): Promise<Answer> {
  let answer: Answer;
  try {
    answer = await answering;
  } catch (thrown) {
    return failMetered(meter, thrown, isAnswered());
  }
  const { usage, charge, outcome } = usageOf(answer);
  meter.observe([{ type: "start" }, { type: "finish", reason: "stop", usage }]);
  await meter.finish(charge, outcome);
  return answer;
}

/** Writes the row of a call that failed before its answer, and throws the error for the client. */
async function failMetered(meter: CallMeter, thrown: unknown, isAnswered = false): Promise<never> {
  const { reason } = meter.signal;
  // When the gateway itself aborted the call, its reason is the error; the engine's failure only follows from it.
  const error = reason instanceof ServiceError ? reason : toServiceError(thrown);
  await meter.fail(error, isAnswered);
  throw error;
}

// This is a class because a generator that was never pulled would never write its row.
class MeteredEvents
  implements
    AsyncIterableIterator<readonly ChatEvent[], undefined>,
    ReceivingSource<Step>,
    Taker<IteratorResult<readonly ChatEvent[]>>
{
  readonly #source: AsyncIterator<readonly ChatEvent[]> &
    Source<IteratorResult<readonly ChatEvent[]>>;
  readonly #meter: CallMeter;
  readonly #scope: Scope;
  #taker: Taker<Step> | undefined;
  #isOver = false;
  /** True once an event other than an error was returned, so that the client has received a status of 200. */
  #isAnswered = false;

  constructor(events: ChatEvents, meter: CallMeter, scope: Scope) {
    this.#source = events[Symbol.asyncIterator]();
    this.#meter = meter;
    this.#scope = scope;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    return nextOf(this);
  }

  receive(taker: Taker<Step>): void {
    if (this.#isOver) {
      taker.take(DONE);
      return;
    }
    this.#taker = taker;
    receive(this.#source, this);
  }

  take(step: IteratorResult<readonly ChatEvent[]>): void {
    this.#pass(step.done === true ? [brokenOff()] : step.value);
  }

  fail(thrown: unknown): void {
    const { signal } = this.#meter;
    this.#pass([errorEvent(signal.aborted ? signal.reason : thrown)]);
  }

  #pass(batch: readonly ChatEvent[]): void {
    // The reader has stopped meanwhile.
    if (this.#isOver) {
      this.#taker?.take(DONE);
      return;
    }
    const isFirst = !this.#isAnswered && this.#scope !== "round";
    const end = this.#observe(batch);
    if (end === undefined) {
      const value = this.#withInputTokens(batch);
      const starting = isFirst ? this.#meter.recordStart() : undefined;
      if (starting === undefined) this.#taker?.take({ done: false, value });
      else void starting.then(() => this.#taker?.take({ done: false, value }));
      return;
    }
    this.#isOver = true;
    this.#end(batch, end).then(
      (value) => this.#taker?.take({ done: false, value }),
      (thrown: unknown) =>
        // The answer is complete but its row is not stored, so the client must not take the answer for a finished one.
        this.#taker?.take({ done: false, value: [...batch.slice(0, -1), errorEvent(thrown)] }),
    );
  }

  /** Called when the reader stops: the client of a call, or the rest of the call of a round. */
  async return(): Promise<Step> {
    // A round that has ended must not end the next one.
    if (this.#isOver && this.#scope === "round") return DONE;
    this.#isOver = true;
    const leaving = this.#source.return?.();
    if (this.#scope === "round") this.#meter.endRound();
    await Promise.all([leaving, this.#scope !== "round" && this.#meter.leave(this.#isAnswered)]);
    return DONE;
  }

  #observe(batch: readonly ChatEvent[]): EndEvent | undefined {
    if (batch[0]?.type !== "error") this.#isAnswered = true;
    if (this.#scope === "rounds") return endOf(batch);
    this.#meter.observe(batch);
    return this.#meter.roundEnd;
  }

  async #end(batch: readonly ChatEvent[], end: EndEvent): Promise<readonly ChatEvent[]> {
    if (this.#scope === "round") {
      this.#meter.endRound();
      return batch;
    }
    if (end.type === "error") {
      await this.#meter.fail(end.error, this.#isAnswered);
      return batch;
    }
    const isReported = this.#scope === "call" && end.usage !== undefined;
    await this.#meter.finish();
    return this.#withInputTokens(isReported ? batch : withUsage(batch, end, this.#meter.usage));
  }

  /**
   * Adds the estimated prompt tokens when the vendor reports none, because some formats report them before the answer.
   */
  #withInputTokens(batch: readonly ChatEvent[]): readonly ChatEvent[] {
    const first = batch[0];
    if (first?.type !== "start" || first.inputTokens !== undefined) return batch;
    return [{ ...first, inputTokens: this.#meter.inputTokens }, ...batch.slice(1)];
  }
}

type EndEvent = Extract<ChatEvent, { type: "finish" | "error" }>;

function endOf(batch: readonly ChatEvent[]): EndEvent | undefined {
  const last = batch.at(-1);
  return last?.type === "finish" || last?.type === "error" ? last : undefined;
}

/** Adds our usage when the vendor reports none, for clients that ask for usage. */
function withUsage(
  batch: readonly ChatEvent[],
  end: FinishEvent,
  usage: Usage,
): readonly ChatEvent[] {
  return batch.map((event) => (event === end ? { ...end, usage } : event));
}

function brokenOff(): ChatEvent {
  return errorEvent(new ServiceError("upstream_error", "The engine's answer broke off."));
}

function errorEvent(thrown: unknown): ChatEvent {
  return { type: "error", error: toServiceError(thrown) };
}
