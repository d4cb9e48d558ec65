import { describe, expect, it } from "vitest";
import { ServiceError } from "../../src/core/service-error.ts";

describe("An error that a client may see", () => {
  it.each(["rate_limit_exceeded", "overloaded", "storage_unavailable"] as const)(
    "says how long to wait: %s",
    (code) => {
      expect(new ServiceError(code, "Later.").retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(new ServiceError(code, "Later.", { retryAfterSeconds: 60 })).toMatchObject({
        retryAfterSeconds: 60,
      });
    },
  );

  it.each(["invalid_value", "upstream_error"] as const)("asks for no wait: %s", (code) => {
    expect(new ServiceError(code, "No.").retryAfterSeconds).toBeUndefined();
  });
});
