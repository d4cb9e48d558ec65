import { ServiceError } from "../../../core/service-error.ts";
import { StepFailure } from "../../runs/run.ts";

/** Returns an error of the gateway's own parts as the failure of a step; any other error as it is. */
export function toStepFailure(thrown: unknown): unknown {
  if (!(thrown instanceof ServiceError)) return thrown;
  const { code, message, status, retryAfterSeconds } = thrown;
  const isRetryable = status === 429 || status >= 500 || code === "changed_meanwhile";
  return new StepFailure(code, message, { isRetryable, retryAfterSeconds, cause: thrown });
}

/** Returns the faults of a field by the error of a lookup; rejects with any other error. */
export function faultsOf(field: string) {
  return (thrown: unknown): readonly { readonly field: string; readonly message: string }[] => {
    if (!(thrown instanceof ServiceError) || thrown.status >= 500) throw thrown;
    return [{ field, message: thrown.message }];
  };
}
