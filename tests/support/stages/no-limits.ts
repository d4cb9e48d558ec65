import type { Gateway } from "../../../src/gateway/gateway.ts";

/** For callers that have no limits: nothing is admitted, and nobody counts. */
export const noLimits: Gateway["limits"] = {
  admit() {
    throw new Error("a call without limits asks for no admission");
  },
  refuseExhausted: () => undefined,
  countInMinute: () => undefined,
  book: () => undefined,
  bookSession: () => undefined,
};
