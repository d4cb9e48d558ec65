import { describe, expect, it } from "vitest";
import type { Target } from "../../src/backends/models/model-catalog.ts";
import type { ChatRequest } from "../../src/core/chat/chat-request.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import { createFailureLog } from "../../src/gateway/failure-log.ts";
import type { Log } from "../../src/lib/log.ts";

const target = { backend: { name: "openai" }, model: { id: "gpt-4.1" } } as Target;
const refused = new ServiceError("upstream_error", "The key was refused.", { upstreamStatus: 401 });
const request: ChatRequest = {
  model: "m",
  messages: [{ role: "user", content: [{ type: "text", text: "The code of the safe is 4711." }] }],
  tools: [],
  parameters: {},
  stream: false,
};
const busy = new ServiceError("overloaded", "It is overloaded.", { upstreamStatus: 529 });

describe("the log of failed calls", () => {
  it("tells of each kind of failure once a minute, and how many went untold", () => {
    const lines: unknown[] = [];
    const log = { warn: (fields: object, text: string) => lines.push([fields, text]) };
    let now = 0;
    const failures = createFailureLog(log as unknown as Log, { now: () => now });
    const note = (error: ServiceError, requestId: string) =>
      failures.note(target, error, { requestId, request });
    note(refused, "req_1");
    note(refused, "req_2");
    note(busy, "req_3");
    expect(lines).toEqual([
      [
        {
          backend: "openai",
          model: "gpt-4.1",
          code: "upstream_error",
          upstream_status: 401,
          request_id: "req_1",
        },
        "The key was refused.",
      ],
      [expect.objectContaining({ upstream_status: 529 }), "It is overloaded."],
    ]);
    now = 60_000;
    note(refused, "req_4");
    expect(lines.at(-1)).toEqual([
      expect.objectContaining({ request_id: "req_4", failures_since_last_line: 1 }),
      "The key was refused.",
    ]);
  });

  it("tells an engine's own words, unless they repeat the request", () => {
    const lines: string[] = [];
    const log = { warn: (_fields: object, text: string) => lines.push(text) };
    for (const words of [
      "CUDA error: out of memory",
      "no safe is 4711. is allowed",
      "of the safe!",
    ]) {
      const error = new ServiceError("upstream_error", `It says: ${words}`);
      const failures = createFailureLog(log as unknown as Log, { now: () => 0 });
      failures.note(target, error, { requestId: "req_1", request });
    }
    const hidden = "The model server failed, in words that quote the request and are not logged.";
    expect(lines).toEqual([
      "It says: CUDA error: out of memory",
      "It says: no safe is 4711. is allowed",
      "It says: of the safe!",
    ]);
    const error = new ServiceError("upstream_error", "Bad prompt: The code of the safe is 4711.");
    createFailureLog(log as unknown as Log, { now: () => 0 }).note(target, error, {
      requestId: "req_1",
      request,
    });
    expect(lines.at(-1)).toBe(hidden);
  });
});
