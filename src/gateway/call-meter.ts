import type { ChatEvent, Usage } from "../core/chat-event.ts";
import { type ErrorCode, ServiceError } from "../core/service-error.ts";
import type { Outcome, UsageEntry, UsageRecord } from "../usage/usage-record.ts";
import type { ClientCall, Gateway, Reservation, TokenBudget } from "./gateway.ts";
import { RoundUsage } from "./round-usage.ts";

/** What metering needs of the gateway. */
export type MeteringGateway = Pick<Gateway, "journal" | "clock" | "limits" | "figures">;

/** One call of a model within a metered call. */
export interface MeteredRound {
  /** The model that is asked. */
  readonly model: string;
  /** Estimate of the prompt's tokens. */
  readonly inputTokens: number;
  /** What the round may spend, where the key has a limit on tokens. */
  readonly budget?: TokenBudget | undefined;
}

/** For the console's own chat, which is not metered. */
const UNMETERED: UsageEntry = {
  progress: () => undefined,
  close: () => undefined,
};
/** The status of a call whose client left before anything was answered. */
const CLIENT_CLOSED_REQUEST = 499;
const PROGRESS_EVERY_MS = 1_000;
const NOTHING_USED: Usage = { inputTokens: 0, outputTokens: 0, estimated: true };
/** After these it is unknown how far the engine got. */
const TIMEOUTS: ReadonlySet<ErrorCode> = new Set(["upstream_timeout", "request_timeout"]);
/** Refusals of a model's server. Those of the key's own limits are errors of the call. */
const UPSTREAM_REFUSALS: ReadonlySet<ErrorCode> = new Set(["rate_limit_exceeded", "queue_full"]);

/**
 * The one usage row of a call, and the settlement of its limits. A call is one round or several; their usage is added
 * up, the time to the first token is that of the first round, and the model is the one that was asked last.
 */
export class CallMeter {
  readonly #gateway: MeteringGateway;
  readonly #call: ClientCall;
  readonly #reservation: Reservation | undefined;
  #entry: UsageEntry | undefined;
  #model = "";
  /** Of the first round: what the row has of the prompt when the process dies. */
  #startInputTokens = 0;
  #round: RoundUsage | undefined;
  /** Of the rounds that have ended. */
  #endedUsage: Usage | undefined;
  #endedCharge = 0;
  #firstAt: number | undefined;
  #progressAt: number;
  #isClosed = false;

  /** @param reservation of a call that was admitted; it is settled when the row is closed. */
  constructor(gateway: MeteringGateway, call: ClientCall, reservation?: Reservation) {
    this.#gateway = gateway;
    this.#call = call;
    this.#reservation = reservation;
    this.#progressAt = call.startedAt;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }

  /** A first round has begun, and with it the usage row. */
  get isOpen(): boolean {
    return this.#entry !== undefined;
  }

  /** Of the whole call so far. */
  get usage(): Usage {
    if (this.#round === undefined) return this.#endedUsage ?? NOTHING_USED;
    return this.#endedUsage === undefined
      ? this.#round.usage
      : sumOf(this.#endedUsage, this.#round.usage);
  }

  /** Tokens that the call's limits are charged so far, input and output. */
  get charge(): number {
    return this.#endedCharge + (this.#round?.charge ?? 0);
  }

  /** Estimate of the open round's prompt. */
  get inputTokens(): number {
    return this.#round?.inputTokens ?? 0;
  }

  /** The event that ended the open round. */
  get roundEnd(): RoundUsage["end"] {
    return this.#round?.end;
  }

  /** The model becomes known only with its answer. */
  setModel(model: string): void {
    this.#model = model;
  }

  /**
   * Begins a round; the first one begins the usage row, which is written down before the upstream call. Rejects with
   * `storage_unavailable`; then nothing was used.
   */
  async begin(round: MeteredRound): Promise<void> {
    this.retry(round);
    if (this.#entry !== undefined) return;
    const { requestId: id, caller, channel, startedAt, observer } = this.#call;
    this.#startInputTokens = this.inputTokens;
    try {
      this.#entry =
        caller.kind === "key"
          ? await this.#gateway.journal.open({
              id,
              keyId: caller.keyId,
              channel,
              model: round.model,
              startedAt,
              inputTokens: this.#startInputTokens,
            })
          : UNMETERED;
    } catch (thrown) {
      this.#reservation?.admission.settle(0);
      throw thrown;
    }
    observer?.meterBegan();
  }

  /** Begins the round again with another model: one that has not answered has used nothing. */
  retry({ model, inputTokens, budget }: MeteredRound): void {
    if (this.#round?.isAnswered) this.endRound();
    this.#model = model;
    this.#round = new RoundUsage(inputTokens, budget);
  }

  observe(batch: readonly ChatEvent[]): void {
    this.#round?.observe(batch);
    if (batch[0]?.type === "error") return;
    const now = this.#gateway.clock.now();
    this.#firstAt ??= now;
    if (now - this.#progressAt < PROGRESS_EVERY_MS) return;
    this.#progressAt = now;
    this.#entry?.progress(this.#progress());
  }

  /** Adds the open round to the call's usage. One that failed before its answer adds nothing, if nothing was used. */
  endRound(): void {
    const round = this.#round;
    if (round === undefined) return;
    const { end } = round;
    if (!(end?.type === "error" && this.#isUnused(end.error))) {
      this.#endedCharge += round.charge;
      this.#endedUsage =
        this.#endedUsage === undefined ? round.usage : sumOf(this.#endedUsage, round.usage);
    }
    this.#round = undefined;
  }

  /** Closes the row of a call that was answered to its end. Rejects with `storage_unavailable`. */
  finish(charge = this.charge): Promise<void> {
    return this.#close("ok", 200, charge);
  }

  /** Closes the row of a call whose client left. Rejects with `storage_unavailable`. */
  leave(isAnswered: boolean): Promise<void> {
    return this.#close("aborted", isAnswered ? 200 : CLIENT_CLOSED_REQUEST);
  }

  /**
   * Closes the row of a call that failed. Rejects with `storage_unavailable`.
   *
   * @param isAnswered the client has seen a status of 200.
   */
  async fail(error: ServiceError, isAnswered = false): Promise<void> {
    const { signal } = this.#call;
    const clientLeft = signal.aborted && !(signal.reason instanceof ServiceError);
    const outcome = UPSTREAM_REFUSALS.has(error.code) ? "rate_limited" : "error";
    const status = clientLeft ? CLIENT_CLOSED_REQUEST : error.status;
    if (this.#isUnused(error)) this.#round = undefined;
    await this.#close(clientLeft ? "aborted" : outcome, isAnswered ? 200 : status);
  }

  /**
   * A round that was refused or never reached an engine costs its key nothing: a client that tries again and again while
   * an engine is down would use up its month. One that was aborted may have been worked on until then.
   */
  #isUnused({ code }: ServiceError): boolean {
    return !this.#round?.isAnswered && !this.#call.signal.aborted && !TIMEOUTS.has(code);
  }

  async #close(outcome: Outcome, status: number, charge = this.charge): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#entry === undefined) {
      this.#reservation?.admission.settle(0);
      return;
    }
    // Before the row, which may have to be waited for: what the call did not use is free for the next one.
    this.#settle(charge);
    const { requestId: id, caller, channel, startedAt, observer } = this.#call;
    const { clock, figures } = this.#gateway;
    const usage = this.usage;
    const record: UsageRecord = {
      id,
      keyId: caller.kind === "key" ? caller.keyId : "",
      channel,
      model: this.#model,
      startedAt,
      outcome,
      status,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      cachedTokens: usage.cachedTokens ?? 0,
      reasoningTokens: usage.reasoningTokens ?? 0,
      estimated: usage.estimated ?? false,
      latencyMs: clock.now() - startedAt,
      firstTokenMs: this.#firstAt === undefined ? null : this.#firstAt - startedAt,
    };
    try {
      await this.#entry.close(record);
      if (caller.kind === "key") figures?.count(record);
    } finally {
      observer?.meterEnded(record);
    }
  }

  /** What a key without limits uses is counted too, for limits that it may get. */
  #settle(tokens: number): void {
    const { caller, startedAt } = this.#call;
    if (this.#reservation !== undefined) this.#reservation.admission.settle(tokens);
    else if (caller.kind === "key") this.#gateway.limits.book(caller.keyId, startedAt, tokens);
  }

  /** The start has the first prompt only, so the prompts of further rounds are counted here. */
  #progress(): number {
    const outputTokens = this.#round?.outputTokensSoFar ?? 0;
    if (this.#endedUsage === undefined) return outputTokens;
    return this.#endedCharge - this.#startInputTokens + this.inputTokens + outputTokens;
  }
}

function sumOf(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedTokens: (one.cachedTokens ?? 0) + (other.cachedTokens ?? 0),
    cacheWriteTokens: (one.cacheWriteTokens ?? 0) + (other.cacheWriteTokens ?? 0),
    reasoningTokens: (one.reasoningTokens ?? 0) + (other.reasoningTokens ?? 0),
    estimated: one.estimated === true || other.estimated === true,
  };
}
