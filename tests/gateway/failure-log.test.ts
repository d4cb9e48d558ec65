import { describe, expect, it } from "vitest";
import type { Target } from "../../src/backends/model-catalog.ts";
import { ServiceError } from "../../src/core/service-error.ts";
import { createFailureLog } from "../../src/gateway/failure-log.ts";
import type { Log } from "../../src/lib/log.ts";

const target = { backend: { name: "openai" }, model: { id: "gpt-4.1" } } as Target;
const refused = new ServiceError("upstream_error", "The key was refused.", { upstreamStatus: 401 });
const busy = new ServiceError("overloaded", "It is overloaded.", { upstreamStatus: 529 });

describe("the log of failed calls", () => {
  it("tells of each kind of failure once a minute, and how many went untold", () => {
    const lines: unknown[] = [];
    const log = { warn: (fields: object, text: string) => lines.push([fields, text]) };
    let now = 0;
    const failures = createFailureLog(log as unknown as Log, { now: () => now });
    failures.note(target, refused, "req_1");
    failures.note(target, refused, "req_2");
    failures.note(target, busy, "req_3");
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
    failures.note(target, refused, "req_4");
    expect(lines.at(-1)).toEqual([
      expect.objectContaining({ request_id: "req_4", failures_since_last_line: 1 }),
      "The key was refused.",
    ]);
  });
});
