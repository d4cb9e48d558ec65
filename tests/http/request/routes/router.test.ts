import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../../src/core/service-error.ts";
import { chatErrorForm } from "../../../../src/http/answers/error-response.ts";
import { RequestLine } from "../../../../src/http/request/request-line.ts";
import { createRouteTable } from "../../../../src/http/request/routes/route-table.ts";
import { createRouter } from "../../../../src/http/request/routes/router.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { systemClock } from "../../../../src/lib/time/clock.ts";

const definition = {
  method: "get",
  path: "/fails",
  access: "open",
  audience: "unlisted",
  responses: {},
} as const;

/** Calls a route that throws; returns the answer and the lines of the log. */
async function callFailing(thrown: unknown, signal?: AbortSignal) {
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => void lines.push(line) });
  const router = createRouter({
    authenticate: () => undefined as never,
    clock: systemClock,
  });
  router.add(definition, () => Promise.reject(thrown));
  const response = await createRouteTable(router.routes).hono.fetch(
    new Request("http://gateway/fails", signal === undefined ? {} : { signal }),
    {
      requestId: "req_1",
      arrivedAt: 0,
      path: "/fails",
      errorForm: chatErrorForm,
      address: () => null,
      isHttps: () => false,
      allowSilence: () => () => undefined,
      log,
      line: new RequestLine(
        { log, requestId: "req_1", method: "GET", path: "/fails", client: null, isProbe: false },
        () => undefined,
      ),
    },
  );
  return { response, lines: lines.map((line) => JSON.parse(line)) };
}

describe("A route that fails", () => {
  it("by a fault of ours answers 500 without a word of the cause, which the log has by the request id", async () => {
    const { response, lines } = await callFailing(new TypeError("x is undefined"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("undefined");
    expect(lines).toEqual([
      expect.objectContaining({
        level: "error",
        request_id: "req_1",
        err: expect.objectContaining({ type: "TypeError", message: "x is undefined" }),
      }),
    ]);
  });

  it("by a refusal that the client is told logs nothing", async () => {
    const { response, lines } = await callFailing(new ServiceError("invalid_value", "Wrong."));
    expect(response.status).toBe(400);
    expect(lines).toEqual([]);
  });

  it("because its client left logs nothing", async () => {
    const reason = new DOMException("gone", "AbortError");
    const { lines } = await callFailing(reason, AbortSignal.abort(reason));
    expect(lines).toEqual([]);
  });
});
