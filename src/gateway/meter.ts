import type { ChatEvent, ChatEvents, FinishEvent, Usage } from "../core/chat-event.ts";
import { ServiceError, toServiceError } from "../core/service-error.ts";
import type { CallMeter } from "./call-meter.ts";

type Step = IteratorResult<readonly ChatEvent[], undefined>;

/** What a stream of events is to its call: the whole call, one round of several, or what several rounds make. */
type Scope = "call" | "round" | "rounds";

const DONE: Step = { done: true, value: undefined };

/**
 * Passes the events of a call of one round on and writes its usage row: before the event that ends the stream is handed
 * out, when the source fails, or when the client leaves. Whatever the source does, what comes out ends with exactly one
 * `finish` or `error`. Rejects with the `ServiceError` of a call that fails before its first event.
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

/** The same for a call whose events come from several metered rounds. Its end has the usage of all of them. */
export function meterRounds(meter: CallMeter, answering: Promise<ChatEvents>): Promise<ChatEvents> {
  return meterCall(meter, answering, "rounds");
}

/** Counts one round of several. It ends with exactly one `finish` or `error`; the call and its row stay open. */
export function meterRound(meter: CallMeter, events: ChatEvents): ChatEvents {
  return new MeteredEvents(events, meter, "round");
}

/**
 * Writes the usage row of a call whose answer comes whole, and resolves with the answer once the row is safe. For a
 * failure the row is written too. Rejects with a `ServiceError`.
 *
 * @param usageOf also returns the tokens that limits are charged, where they are more than those of the row.
 */
export async function meterWhole<Answer>(
  meter: CallMeter,
  answering: Promise<Answer>,
  usageOf: (answer: Answer) => { readonly usage: Usage; readonly charge?: number },
): Promise<Answer> {
  let answer: Answer;
  try {
    answer = await answering;
  } catch (thrown) {
    return failMetered(meter, thrown);
  }
  const { usage, charge } = usageOf(answer);
  meter.observe([{ type: "start" }, { type: "finish", reason: "stop", usage }]);
  await meter.finish(charge);
  return answer;
}

/** Writes the row of a call that failed before it was answered, and throws the error for its client. */
async function failMetered(meter: CallMeter, thrown: unknown): Promise<never> {
  const { reason } = meter.signal;
  // A call that the gateway itself ended says why; the failure of the engine's side follows from that.
  const error = reason instanceof ServiceError ? reason : toServiceError(thrown);
  await meter.fail(error);
  throw error;
}

// A class and not a generator: a generator that was never pulled would never write its row.
class MeteredEvents implements AsyncIterableIterator<readonly ChatEvent[], undefined> {
  readonly #source: AsyncIterator<readonly ChatEvent[]>;
  readonly #meter: CallMeter;
  readonly #scope: Scope;
  #isOver = false;
  /** Something but an error was handed out, so the client has seen a 200. */
  #isAnswered = false;

  constructor(events: ChatEvents, meter: CallMeter, scope: Scope) {
    this.#source = events[Symbol.asyncIterator]();
    this.#meter = meter;
    this.#scope = scope;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    if (this.#isOver) return DONE;
    let batch: readonly ChatEvent[];
    try {
      const step = await this.#source.next();
      batch = step.done === true ? [brokenOff()] : step.value;
    } catch (thrown) {
      const { signal } = this.#meter;
      batch = [errorEvent(signal.aborted ? signal.reason : thrown)];
    }
    const end = this.#observe(batch);
    if (end === undefined) return { done: false, value: this.#withInputTokens(batch) };
    this.#isOver = true;
    try {
      return { done: false, value: await this.#end(batch, end) };
    } catch (thrown) {
      // The answer is there but its row is not: the client must not take it for a finished one.
      return { done: false, value: [...batch.slice(0, -1), errorEvent(thrown)] };
    }
  }

  /** The reader leaves: of a call its client, of a round the rest of the call. */
  async return(): Promise<Step> {
    // A round that is over must not end the one after it.
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

  /** Some formats report the prompt's tokens before the answer; our estimate stands in where the vendor does not. */
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

/** A client that asks for usage gets ours where the vendor reports none. */
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
