import type { Target } from "../backends/models/model-catalog.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { ServiceError } from "../core/service-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { quotesRequest } from "./quotes-request.ts";

/** Tells the operator of servers that fail calls, also of those that a fallback hides from the client. */
export interface FailureLog {
  readonly note: (target: Target, error: ServiceError, call: FailedCall) => void;
}

interface FailedCall {
  readonly requestId: string;
  readonly request: ChatRequest;
}

/** What clients send is never logged, and engines may repeat it in what they say of a failure. */
const QUOTING = "The model server failed, in words that quote the request and are not logged.";

/** One line a minute for each kind of failure of a backend: a server that is down fails every call. */
const QUIET_MS = 60_000;

interface Told {
  readonly at: number;
  /** Failures since then that no line told of. */
  untold: number;
}

export function createFailureLog(log: Log, clock: Clock): FailureLog {
  // By backend and status: no more than these can be.
  const toldOf = new Map<string, Told>();
  return {
    note({ backend, model }, error, { requestId, request }) {
      const { code, upstreamStatus, message } = error;
      const kind = `${backend.name} ${code} ${upstreamStatus ?? ""}`;
      const told = toldOf.get(kind);
      const now = clock.now();
      if (told !== undefined && Math.abs(now - told.at) < QUIET_MS) {
        told.untold += 1;
        return;
      }
      toldOf.set(kind, { at: now, untold: 0 });
      const more = told !== undefined &&
        told.untold > 0 && { failures_since_last_line: told.untold };
      const upstream = { backend: backend.name, model: model.id, code };
      const fields = { ...upstream, upstream_status: upstreamStatus, request_id: requestId };
      const text = quotesRequest(message, request) ? QUOTING : message;
      log.warn({ ...fields, ...more }, text);
    },
  };
}
