import type { Caller } from "../core/caller.ts";
import { ServiceError } from "../core/service-error.ts";

/**
 * Refuses a key that is bound to an assistant whatever a model would answer by itself: what binds the key would not
 * hold. Throws `assistant_not_allowed`.
 */
export function refuseBoundKey(caller: Caller): void {
  if (caller.kind !== "key" || caller.assistantId === null) return;
  throw new ServiceError(
    "assistant_not_allowed",
    "This API key is bound to its assistant and calls nothing else. Call with a key whose `assistant_id` is null.",
  );
}
