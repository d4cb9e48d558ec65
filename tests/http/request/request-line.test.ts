import { describe, expect, it } from "vitest";
import type { Caller } from "../../../src/core/callers/caller.ts";
import { type ErrorCode, ServiceError } from "../../../src/core/service-error.ts";
import { RequestLine } from "../../../src/http/request/request-line.ts";
import { createLog } from "../../../src/lib/log.ts";
import type { UsageRecord } from "../../../src/usage/usage-record.ts";

const key = { kind: "key", keyId: "key_1", ownerId: "user_1" } as Caller;
const user = { kind: "session", ownerId: "user_1" } as Caller;
const record: UsageRecord = {
  id: "req_1",
  keyId: "key_1",
  channel: "chat",
  model: "some-model",
  startedAt: 0,
  inputTokens: 12,
  outcome: "ok",
  status: 200,
  outputTokens: 34,
  cachedTokens: 0,
  reasoningTokens: 0,
  estimated: false,
  latencyMs: 56,
  firstTokenMs: 7,
};

function openLine(path = "/v1/chat/completions", isProbe = false) {
  const lines: string[] = [];
  const log = createLog("debug", { write: (line) => void lines.push(line) });
  const arrival = { log, requestId: "req_1", method: "POST", path, client: "192.0.2.1", isProbe };
  let finished = 0;
  const line = new RequestLine(arrival, () => {
    finished += 1;
  });
  return { line, read: () => lines.map((text) => JSON.parse(text)), finished: () => finished };
}

describe("the line of a request", () => {
  it("comes when its stream and its metering are over, whichever is last", () => {
    for (const last of ["stream", "meter"]) {
      const { line, read, finished } = openLine();
      line.hold();
      line.meterBegan();
      line.answered(200, false);
      if (last === "meter") line.release();
      else line.meterEnded(record);
      expect(read()).toEqual([]);
      if (last === "meter") line.meterEnded(record);
      else line.release();
      expect(read()).toHaveLength(1);
      expect(finished()).toBe(1);
    }
  });

  it("tells of a metered call all that its row tells, by route and not by path", () => {
    const { line, read } = openLine("/v1/models/secret");
    line.route = "/v1/models/{model}";
    line.caller = key;
    line.meterBegan();
    line.meterEnded(record);
    line.answered(200, false);
    expect(read()).toEqual([
      {
        level: "info",
        time: expect.any(String),
        method: "POST",
        route: "/v1/models/{model}",
        status: 200,
        duration_ms: expect.any(Number),
        request_id: "req_1",
        key_id: "key_1",
        channel: "chat",
        model: "some-model",
        input_tokens: 12,
        output_tokens: 34,
        outcome: "ok",
        ttft_ms: 7,
        client: "192.0.2.1",
        msg: "request",
      },
    ]);
  });

  it("tells the user of a session", () => {
    const { line, read } = openLine();
    line.caller = user;
    line.answered(200, false);
    expect(read()[0]).toMatchObject({ user_id: "user_1" });
    expect(read()[0]).not.toHaveProperty("key_id");
  });

  it("tells a path that nobody serves in printable characters, cut, and without a key in it", () => {
    const hostile = `/a\n\u001b[31m"世${"y".repeat(500)}`;
    const { line, read } = openLine(hostile);
    line.answered(404, false);
    expect(read()[0].path).toMatch(/^\/a%0A%1B\[31m"%E4%B8%96y+$/);
    expect(read()[0].path.length).toBeLessThan(400);
    const other = openLine("/v1/none/sk-abcdefghijklmnop/ses_abcdefgh");
    other.line.answered(404, false);
    expect(other.read()[0].path).toBe("/v1/none/[key]/[key]");
  });

  it.each([
    ["/v1/Bearer%20sk-abcdefghijklmnopqrstuvwxyz", "/v1/Bearer%20[key]"],
    ["/v1/%22ses_abcdefghijklmnop%22", "/v1/%22[key]%22"],
    ["/v1/sk%2Dabcdefghijklmnop", "/v1/[key]"],
    ["/v1/my_bk-abcdefghijklmnop", "/v1/my_[key]"],
    ["/v1/%73k-%61bcdefghijklm%6Eop", "/v1/[key]"],
    ["/v1/sk%252Dabcdefghijklmnop", "/v1/[key]"],
    ["/v1/a%20b%2Fc%252Fd", "/v1/a%20b%2Fc%2Fd"],
    ["/v1/bearersk-abcdefghijklmnopqrstuvwxyz", "/v1/bearer[key]"],
    ["/v1/task-management", "/v1/task-management"],
  ])("leaves no key in the path, whatever stands before it: %s", (path, told) => {
    const { line, read } = openLine(path);
    line.answered(404, false);
    expect(read()[0].path).toBe(told);
  });

  it("says of a client that left that it left, and calls it no error", () => {
    const { line, read } = openLine();
    line.error = new ServiceError("internal_error", "An echo of the abort.");
    line.answered(500, true);
    expect(read()[0]).toMatchObject({ level: "info", status: 499, aborted: true });
    expect(read()[0]).not.toHaveProperty("code");
    const { line: stream, read: readStream } = openLine();
    stream.meterBegan();
    stream.answered(200, false);
    stream.meterEnded({ ...record, outcome: "aborted" });
    expect(readStream()[0]).toMatchObject({ level: "info", status: 200, aborted: true });
  });

  it.each<[string, ErrorCode, number | undefined]>([
    ["error", "internal_error", undefined],
    ["warn", "storage_unavailable", undefined],
    ["warn", "overloaded", undefined],
    ["info", "overloaded", 529],
    ["info", "upstream_error", undefined],
    ["info", "upstream_timeout", undefined],
    ["info", "rate_limit_exceeded", undefined],
    ["info", "invalid_json", undefined],
  ])("is at %s for %s (upstream %s)", (level, code, upstreamStatus) => {
    const { line, read } = openLine();
    line.error = new ServiceError(code, "It says so.", { upstreamStatus });
    line.answered(line.error.status, false);
    expect(read()[0]).toMatchObject({ level, code });
  });

  it.each([
    ["debug", "/api/ready", true, 200],
    ["info", "/api/ready", true, 503],
    ["info", "/v1/models", false, 200],
  ])("is at %s for %s (a probe: %s) with %s", (level, route, isProbe, status) => {
    const { line, read } = openLine(route, isProbe);
    line.route = route;
    line.answered(status, false);
    expect(read()[0]).toMatchObject({ level, status });
  });
});
