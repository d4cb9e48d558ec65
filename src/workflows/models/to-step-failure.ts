import { type ServiceError, toServiceError } from "../../core/service-error.ts";
import { StepFailure } from "../runs/run.ts";

/** What a message may hold of an engine's own text. */
const MAX_MESSAGE = 500;
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
const FOR_ALL_ROWS: ReadonlySet<number> = new Set([401, 403, 404, 429]);

/** A failure that every other row would meet too: the key was revoked, a limit is used up, a model is gone. */
export class StepRefusal extends StepFailure {}

/**
 * Returns the failure of a step for what the pipeline threw: retryable for a server that failed or has no room, and a
 * `StepRefusal` for what no other row would be spared.
 */
export function toStepFailure(thrown: unknown): StepFailure {
  if (thrown instanceof StepFailure) return thrown;
  const error = toServiceError(thrown);
  const { code, status, retryAfterSeconds } = error;
  const message = messageOf(error);
  if (RETRYABLE.has(status) && error.shouldRetry !== false) {
    return new StepFailure(code, message, { isRetryable: true, retryAfterSeconds, cause: thrown });
  }
  const Failure = FOR_ALL_ROWS.has(status) ? StepRefusal : StepFailure;
  return new Failure(code, message, { cause: thrown });
}

function messageOf({ code, message }: ServiceError): string {
  if (code === "internal_error") {
    return "The gateway failed on this call. The operator finds the cause in the log by the run's id.";
  }
  return message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE)}…`;
}
