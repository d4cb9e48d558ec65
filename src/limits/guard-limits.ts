import { ServiceError } from "../core/service-error.ts";
import type { ReplicaGuard } from "../db/locks/replica-guard.ts";
import type { Limits } from "./limits.ts";

/** Limits that may be unavailable for a while; calls of keys with limits are then refused. */
export interface GuardedLimits extends Limits {
  readonly isAvailable: () => boolean;
}

/** Wraps the limits to refuse calls while a replica that counts in its own memory works on the same database. */
export function guardLimits(
  limits: Limits & Partial<Pick<GuardedLimits, "isAvailable">>,
  guard: Pick<ReplicaGuard, "isSafe">,
): GuardedLimits {
  const requireSafe = safetyOf(guard);
  return {
    admit(call) {
      requireSafe();
      return limits.admit(call);
    },
    refuseExhausted(call) {
      requireSafe();
      return limits.refuseExhausted(call);
    },
    countInMinute(call) {
      requireSafe();
      return limits.countInMinute(call);
    },
    book: limits.book.bind(limits),
    bookSession: limits.bookSession.bind(limits),
    read: (keyId, keyLimits, now) => limits.read(keyId, keyLimits, now),
    settleLost: (calls, store) => limits.settleLost(calls, store),
    start: (isKnown) => limits.start(isKnown),
    recount: async () => limits.recount?.(),
    openReservations: () => limits.openReservations(),
    isAvailable: () => guard.isSafe() && (limits.isAvailable?.() ?? true),
    close: () => limits.close(),
  };
}

/** Returns a function that throws `storage_unavailable` while tokens must not be granted. */
export function safetyOf(guard: Pick<ReplicaGuard, "isSafe">): () => void {
  return () => {
    if (!guard.isSafe()) throw unshared();
  };
}

function unshared(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "The limits of this API key cannot be checked now: another replica of the gateway does not share them.",
  );
}
