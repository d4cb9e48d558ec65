import type { Target } from "../backends/models/model-catalog.ts";
import type { ChatMessage, ChatRequest } from "../core/chat/chat-request.ts";
import type { ServiceError } from "../core/service-error.ts";
import type { Log } from "../lib/log.ts";
import type { Clock } from "../lib/time/clock.ts";

/** Reports servers that fail calls to the operator, even when a fallback hides the failure from the client. */
export interface FailureLog {
  readonly note: (target: Target, error: ServiceError, call: FailedCall) => void;
}

interface FailedCall {
  readonly requestId: string;
  readonly request: ChatRequest;
}

/** Client content is never logged, and engines may repeat it in their error messages. */
const QUOTING = "The model server failed, in words that quote the request and are not logged.";

/** The interval between two log lines for one kind of failure of a backend. A server that is down fails every call. */
const QUIET_MS = 60_000;

/** A sequence of this many characters that occurs in both texts is treated as a quote. */
const QUOTE_CHARACTERS = 16;
/** A longer prompt is not searched; the engine's message is then treated as a quote. */
const MAX_SEARCHED_CHARACTERS = 1_000_000;

interface Reported {
  readonly at: number;
  /** Failures since `at` that have no log line. */
  unreported: number;
}

export function createFailureLog(log: Log, clock: Clock): FailureLog {
  // Bounded by the number of backends and statuses.
  const reports = new Map<string, Reported>();
  return {
    note({ backend, model }, error, { requestId, request }) {
      const { code, upstreamStatus, message } = error;
      const kind = `${backend.name} ${code} ${upstreamStatus ?? ""}`;
      const last = reports.get(kind);
      const now = clock.now();
      if (last !== undefined && Math.abs(now - last.at) < QUIET_MS) {
        last.unreported += 1;
        return;
      }
      reports.set(kind, { at: now, unreported: 0 });
      const more = last !== undefined &&
        last.unreported > 0 && { failures_since_last_line: last.unreported };
      const upstream = { backend: backend.name, model: model.id, code };
      const fields = { ...upstream, upstream_status: upstreamStatus, request_id: requestId };
      const text = quotesRequest(message, request) ? QUOTING : message;
      log.warn({ ...fields, ...more }, text);
    },
  };
}

/** Returns true when a text may repeat a part of the request. A few common words are not a quote. */
function quotesRequest(text: string, { messages }: ChatRequest): boolean {
  const pieces = new Set<string>();
  for (let at = 0; at + QUOTE_CHARACTERS <= text.length; at++) {
    pieces.add(text.slice(at, at + QUOTE_CHARACTERS));
  }
  const said = messages.flatMap(textsOf);
  const length = said.reduce((sum, one) => sum + one.length, 0);
  return length > MAX_SEARCHED_CHARACTERS || said.some((one) => holdsAny(one, pieces));
}

function holdsAny(text: string, pieces: ReadonlySet<string>): boolean {
  for (let at = 0; at + QUOTE_CHARACTERS <= text.length; at++) {
    if (pieces.has(text.slice(at, at + QUOTE_CHARACTERS))) return true;
  }
  return false;
}

function textsOf({ content }: ChatMessage): readonly string[] {
  return content.flatMap((part) => {
    if (part.type === "tool-call") return [part.arguments];
    return "text" in part ? [part.text] : [];
  });
}
