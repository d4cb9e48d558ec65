import { expect, it } from "vitest";
import { ApiError } from "../../../src/console/api/errors.ts";
import { keepingAfter } from "../../../src/console/pages/chat/keeping.ts";

const after = (status: number, code = "any") => {
  const rest = { param: null, requestId: null, retryAfterSeconds: null };
  return keepingAfter(new ApiError("It failed.", { status, code, ...rest }));
};

it("sends a chat again by itself only where what failed may be over", () => {
  for (const status of [0, 401, 429, 500, 503]) {
    expect(after(status)).toMatchObject({ state: "failed", isPassing: true });
  }
  expect(after(409, "changed_meanwhile")).toMatchObject({ state: "failed", isPassing: true });
  for (const status of [400, 403, 409, 413]) {
    expect(after(status)).toMatchObject({ state: "failed", isPassing: false });
  }
  expect(keepingAfter(new Error("a fault of the page"))).toMatchObject({ isPassing: false });
});

it("tells a chat that another tab has changed from one that is deleted", () => {
  expect(after(409, "version_conflict")).toEqual({ state: "conflict" });
  expect(after(404, "not_found")).toMatchObject({ state: "gone" });
});
