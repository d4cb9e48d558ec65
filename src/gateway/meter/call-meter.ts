import type { ChatEvent } from "../../core/chat/chat-event.ts";
import type { Usage } from "../../core/chat/usage.ts";
import { type ErrorCode, ServiceError } from "../../core/service-error.ts";
import type { CancelSignal } from "../../lib/cancellation.ts";
import type { Outcome, UsageEntry, UsageRecord } from "../../usage/usage-record.ts";
import type { ClientCall, Gateway, Reservation, TokenBudget } from "../gateway.ts";
import { RoundUsage, sumOf } from "./round-usage.ts";

/** The part of the gateway that metering needs. */
export type MeteringGateway = Pick<Gateway, "journal" | "clock" | "limits" | "figures">;

/** One call of a model within a metered call. */
export interface MeteredRound {
  readonly model: string;
  /** Estimate of the prompt's tokens. */
  readonly inputTokens: number;
  /** The tokens that the round may spend, if the key has a token limit. */
  readonly budget?: TokenBudget | undefined;
}

/** The entry of a session's calls, which write no usage rows. */
const UNMETERED: UsageEntry = {
  recordStart: () => undefined,
  progress: () => undefined,
  close: () => undefined,
};
/** The status of a call whose client disconnected before the first event. */
const CLIENT_CLOSED_REQUEST = 499;
const PROGRESS_EVERY_MS = 1_000;
const NOTHING_USED: Usage = { inputTokens: 0, outputTokens: 0, estimated: true };
/** After these errors it is unknown how much the engine has done. */
const TIMEOUTS: ReadonlySet<ErrorCode> = new Set(["upstream_timeout", "request_timeout"]);
/** Refusals by a model's server. Refusals by the key's own limits are errors of the call. */
const UPSTREAM_REFUSALS: ReadonlySet<ErrorCode> = new Set(["rate_limit_exceeded", "queue_full"]);

/**
 * Writes the usage row of a call and settles its limits. A call has one round or several. Their usage is summed; the
 * time to the first token is that of the first round, and the model is the last one called.
 */
export class CallMeter {
  readonly #gateway: MeteringGateway;
  readonly #call: ClientCall;
  readonly #reservation: Reservation | undefined;
  #entry: UsageEntry | undefined;
  #model = "";
  #assistantId: string | undefined;
  #toolName: string | undefined;
  /** The prompt of the first round, which the row keeps when the process dies. */
  #startInputTokens = 0;
  #round: RoundUsage | undefined;
  /** The usage of the rounds that have ended. */
  #endedUsage: Usage | undefined;
  #endedCharge = 0;
  #firstAt: number | undefined;
  #progressAt: number;
  #isClosed = false;

  /** @param reservation belongs to an admitted call. It is settled when the row is closed. */
  constructor(gateway: MeteringGateway, call: ClientCall, reservation?: Reservation) {
    this.#gateway = gateway;
    this.#call = call;
    this.#reservation = reservation;
    this.#progressAt = call.startedAt;
  }

  get signal(): CancelSignal {
    return this.#call.signal;
  }

  /** True once a first round, and with it the usage row, has begun. */
  get isOpen(): boolean {
    return this.#entry !== undefined;
  }

  /** The usage of the whole call so far. */
  get usage(): Usage {
    if (this.#round === undefined) return this.#endedUsage ?? NOTHING_USED;
    return this.#endedUsage === undefined
      ? this.#round.usage
      : sumOf(this.#endedUsage, this.#round.usage);
  }

  /** Input and output tokens that the call's limits are charged so far. */
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

  /** Sets the model of a call whose model becomes known only with its answer. */
  setModel(model: string): void {
    this.#model = model;
  }

  /** Sets the assistant that answers, before the first round. */
  setAssistant(id: string): void {
    this.#assistantId = id;
  }

  /** Sets the tool that is called, before the first round. */
  setTool(name: string): void {
    this.#toolName = name;
  }

  /**
   * Begins a round. The first round opens the usage row, before the upstream call. Undefined, or a promise to wait for,
   * which rejects with `storage_unavailable`; then nothing was used.
   */
  begin(round: MeteredRound): undefined | Promise<void> {
    this.retry(round);
    if (this.#entry !== undefined) return undefined;
    const { requestId: id, caller, channel, startedAt, runId } = this.#call;
    this.#startInputTokens = this.inputTokens;
    if (caller.kind !== "key") return this.#open(UNMETERED);
    const opening = this.#gateway.journal.open({
      id,
      keyId: caller.keyId,
      channel,
      model: round.model,
      startedAt,
      inputTokens: this.#startInputTokens,
      assistantId: this.#assistantId,
      toolName: this.#toolName,
      runId,
    });
    if (!(opening instanceof Promise)) return this.#open(opening);
    return opening.then(
      (entry) => this.#open(entry),
      (thrown: unknown) => {
        // A call that cannot be recorded is refused.
        this.#reservation?.admission.cancel();
        throw thrown;
      },
    );
  }

  #open(entry: UsageEntry): undefined {
    this.#entry = entry;
    this.#call.observer?.meterBegan();
  }

  /** Must be called, and its promise waited for, before the client receives a first byte ahead of the answer's end. */
  recordStart(): undefined | Promise<void> {
    return this.#entry?.recordStart();
  }

  /**
   * Begins the round again with another model. A model that has not answered has used nothing, unless its error says so.
   */
  retry({ model, inputTokens, budget }: MeteredRound): void {
    if (this.#round?.isAnswered || this.#round?.end !== undefined) this.endRound();
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

  /** Notes what a model has used that failed without an answer, if its error says so. */
  observeFailure(error: ServiceError): void {
    if (error.usage !== undefined) this.#round?.observe([{ type: "error", error }]);
  }

  /**
   * Adds the open round to the call's usage. A round that failed before its answer adds nothing if nothing was used.
   */
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

  /**
   * Closes the row of a call that was answered completely. Rejects with `storage_unavailable`.
   *
   * @param outcome is `error` for an answer that reports a failure.
   */
  finish(charge = this.charge, outcome: "ok" | "error" = "ok"): Promise<void> {
    return this.#close(outcome, 200, charge);
  }

  /** Closes the row of a call whose client disconnected. Rejects with `storage_unavailable`. */
  leave(isAnswered: boolean): Promise<void> {
    return this.#close("aborted", isAnswered ? 200 : CLIENT_CLOSED_REQUEST);
  }

  /**
   * Closes the row of a call that failed. Rejects with `storage_unavailable`.
   *
   * @param isAnswered is true when the client has received a status of 200.
   */
  async fail(error: ServiceError, isAnswered = false): Promise<void> {
    const { signal } = this.#call;
    const clientLeft = signal.aborted && !(signal.reason instanceof ServiceError);
    const outcome = UPSTREAM_REFUSALS.has(error.code) ? "rate_limited" : "error";
    const status = clientLeft ? CLIENT_CLOSED_REQUEST : error.status;
    this.observeFailure(error);
    if (this.#isUnused(error)) this.#round = undefined;
    await this.#close(clientLeft ? "aborted" : outcome, isAnswered ? 200 : status);
  }

  /**
   * A round that was refused or never reached an engine costs its key nothing. Otherwise a client that retries while an
   * engine is down would use up its month. The engine may have worked on an aborted round until the abort.
   */
  #isUnused({ code, usage }: ServiceError): boolean {
    if (usage !== undefined) return false;
    return !this.#round?.isAnswered && !this.#call.signal.aborted && !TIMEOUTS.has(code);
  }

  async #close(outcome: Outcome, status: number, charge = this.charge): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#entry === undefined) {
      this.#endUnopened(outcome);
      return;
    }
    // This precedes the row, whose write may take time: the tokens that the call did not use become free for the next
    // one.
    this.#settle(charge);
    const { requestId: id, caller, channel, startedAt, observer, runId } = this.#call;
    const { clock, figures } = this.#gateway;
    const usage = this.usage;
    const extraCharge = charge - usage.inputTokens - usage.outputTokens;
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
      extraCharge: extraCharge > 0 ? extraCharge : undefined,
      estimated: usage.estimated ?? false,
      latencyMs: since(startedAt, clock.now()),
      firstTokenMs: this.#firstAt === undefined ? null : since(startedAt, this.#firstAt),
      assistantId: this.#assistantId,
      toolName: this.#toolName,
      runId,
    };
    try {
      const closing = this.#entry.close(record);
      if (closing !== undefined) await closing;
      if (caller.kind === "key") figures?.count(record);
    } finally {
      observer?.meterEnded(record);
    }
  }

  /**
   * Ends a call without a row. One that failed was refused, and counts towards no limit. One whose client disconnected
   * counts as a call, because the gateway may have worked for it.
   */
  #endUnopened(outcome: Outcome): void {
    if (outcome === "aborted") this.#reservation?.admission.settle(0);
    else this.#reservation?.admission.cancel();
  }

  /** Settles the limits. Usage without limits is counted too, for limits that are set later. */
  #settle(tokens: number): void {
    const { caller, startedAt } = this.#call;
    const { limits } = this.#gateway;
    if (this.#reservation !== undefined) this.#reservation.admission.settle(tokens);
    else if (caller.kind === "session") limits.bookSession(caller.ownerId, startedAt, tokens);
    else limits.book(caller.keyId, startedAt, tokens, caller.ownerId);
  }

  /**
   * Returns the tokens to report as progress. The start contains only the first prompt, so the prompts of further
   * rounds are added here.
   */
  #progress(): number {
    const outputTokens = this.#round?.outputTokensSoFar ?? 0;
    if (this.#endedUsage === undefined) return outputTokens;
    return this.#endedCharge - this.#startInputTokens + this.inputTokens + outputTokens;
  }
}

/** Milliseconds between two times of the system's clock, which may have been set back in between. */
function since(startedAt: number, at: number): number {
  return Math.max(0, at - startedAt);
}
