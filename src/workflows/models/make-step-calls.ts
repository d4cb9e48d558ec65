import { setTimeout as sleep } from "node:timers/promises";
import type { FindKeyCaller } from "../../access/keys/find-key-caller.ts";
import type { Channel } from "../../core/channel.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { CallObserver, ClientCall } from "../../gateway/gateway.ts";
import type { OpenCalls } from "../../gateway/open-calls.ts";
import type { CallGate } from "../../gateway/overload/call-gate.ts";
import { createRequestIds } from "../../lib/id.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { UsageRecord } from "../../usage/usage-record.ts";
import type { StepCall } from "./step-models.ts";
import { StepRefusal, toStepFailure } from "./to-step-failure.ts";
import { yieldToClients } from "./yield-to-clients.ts";

export interface StepCallParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly findKeyCaller: FindKeyCaller;
  readonly openCalls: Pick<OpenCalls, "open" | "clients">;
  readonly callGate: Pick<CallGate, "refusal">;
  readonly isLicensed: () => boolean;
}

/** What a call is before its key is known. */
export interface PlannedCall<Result> {
  readonly channel: Channel;
  /** About the bytes of its request, which count among the bodies in hand. */
  readonly bytes: number;
  readonly work: (client: ClientCall) => Promise<Result>;
}

/**
 * Makes one call in the name of a run's key. Rejects with a `StepFailure`, or with the reason of the run's signal.
 */
export type MakeStepCall = <Result>(
  call: StepCall,
  planned: PlannedCall<Result>,
) => Promise<Result>;

/**
 * How long a call waits in all for a limit of its key that opens by itself, or for room in the process. Beyond it the
 * step's own retries wait.
 */
const MAX_WAIT_MS = 10 * 60_000;
/** Calls that were refused together return within this time, one after another. */
const SPREAD_MS = 1_000;

export function makeStepCalls(parts: StepCallParts): MakeStepCall {
  const enter = yieldToClients(parts.openCalls.clients);
  const nextRequestId = createRequestIds();
  const attempt = async <Result>(call: StepCall, planned: PlannedCall<Result>, tried: Tried) => {
    const startedAt = parts.clock.now();
    const requestId = nextRequestId(startedAt);
    const open = parts.openCalls.open(call.signal, "run");
    try {
      const caller = await admit(parts, call);
      open.holdBody(planned.bytes);
      const { channel, work } = planned;
      const { signal } = open;
      const runId = call.run.id;
      return await work({
        ...{ requestId, caller, channel, startedAt, signal, runId },
        observer: tried.observe(call),
        added: open,
      });
    } catch (thrown) {
      call.signal.throwIfAborted();
      const { reason } = open.signal;
      const error = reason instanceof ServiceError ? reason : thrown;
      if (!(error instanceof ServiceError) || error.code === "internal_error") {
        const fields = { request_id: requestId, run_id: call.run.id };
        parts.log.error({ ...fields, err: causeOf(error) }, "a call of a workflow's step failed");
      }
      throw error;
    } finally {
      open.close();
    }
  };
  /** Resolves with how long to wait before the next try, or with the result. */
  const attemptInTurn = async <Result>(call: StepCall, planned: PlannedCall<Result>) => {
    const entering = enter(call.signal);
    const leave = entering instanceof Promise ? await entering : entering;
    const tried = new Tried();
    try {
      return { result: await attempt(call, planned, tried) };
    } catch (thrown) {
      call.signal.throwIfAborted();
      return { thrown, pauseMs: tried.pauseMs(thrown) };
    } finally {
      leave();
    }
  };
  return async (call, planned) => {
    for (let waitedMs = 0; ; ) {
      const tried = await attemptInTurn(call, planned);
      if ("result" in tried) return tried.result;
      waitedMs += tried.pauseMs;
      if (waitedMs > MAX_WAIT_MS) throw toStepFailure(tried.thrown);
      await sleep(tried.pauseMs, undefined, { signal: call.signal }).catch(() =>
        call.signal.throwIfAborted(),
      );
    }
  };
}

/** Refuses what no client could call either, before anything of the call is counted. */
function admit({ isLicensed, callGate, findKeyCaller }: StepCallParts, { run }: StepCall) {
  if (run.keyId === null) throw noKey();
  if (!isLicensed()) {
    throw new ServiceError("license_expired", "The license has expired: no models are called.");
  }
  const overload = callGate.refusal(true);
  if (overload !== undefined) throw overload;
  return findKeyCaller(run.keyId);
}

export function noKey(): StepRefusal {
  return new StepRefusal("no_key", "The workflow has no API key for its models. Set `key_id`.");
}

/** What is known of one try of a call. */
class Tried {
  /** The call has a usage row. */
  #hasBegun = false;

  observe({ addUsage }: StepCall): CallObserver {
    return {
      meterBegan: () => {
        this.#hasBegun = true;
      },
      meterEnded({ inputTokens, outputTokens }: UsageRecord) {
        addUsage?.({ calls: 1, inputTokens, outputTokens });
      },
    };
  }

  /**
   * Returns how long to wait before the call is tried again; infinite when it was more than a refusal, so that the
   * step's retries decide, or when waiting does not help.
   */
  pauseMs(thrown: unknown): number {
    if (this.#hasBegun || !(thrown instanceof ServiceError)) return Number.POSITIVE_INFINITY;
    const { status, shouldRetry, retryAfterSeconds, limits, code } = thrown;
    const isOwn = limits !== undefined || code === "overloaded";
    const isShort = (status === 429 || status === 503) && shouldRetry !== false;
    if (!isOwn || !isShort) return Number.POSITIVE_INFINITY;
    return (retryAfterSeconds ?? 1) * 1_000 + Math.random() * SPREAD_MS;
  }
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof ServiceError ? thrown.cause : thrown;
}
