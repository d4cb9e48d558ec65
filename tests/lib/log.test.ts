import { DrizzleQueryError } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { createLog, writePlainLine } from "../../src/lib/log.ts";

function openLog(level = "info") {
  const lines: string[] = [];
  const log = createLog(level, { write: (line) => void lines.push(line) });
  return { log, lines, read: () => lines.map((line) => JSON.parse(line)) };
}

describe("the log", () => {
  it("tells of an error its kind, code, message and place, and of its causes the same but the place", () => {
    const { log, read } = openLog();
    const cause = Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" });
    log.error({ err: new TypeError("it broke", { cause }) }, "a failure");
    expect(read()).toEqual([
      {
        level: "error",
        time: expect.any(String),
        err: {
          type: "TypeError",
          message: "it broke",
          stack: expect.stringMatching(/^\s+at /),
          cause: { type: "Error", code: "ECONNREFUSED", message: "connect refused" },
        },
        msg: "a failure",
      },
    ]);
  });

  it("writes no parameter of a query, no value that a database quotes, no address and no key", () => {
    const { log, lines } = openLog();
    const quoting = Object.assign(new Error('Key (name)=(canary-1) exists: "canary-1"'), {
      code: "23505",
      severity: "ERROR",
      detail: "canary-2",
    });
    const query = new DrizzleQueryError("select $1, canary-3", ["canary-4"], quoting);
    log.error({ err: query }, "one");
    const far = new Error("no answer of https://me:canary-5@engine.example:8000/v1");
    log.error({ err: Object.assign(far, { headers: { authorization: "canary-6" } }) }, "two");
    log.error({ err: new Error("refused Bearer canary-7 and sk-canary-8888") }, "three");
    expect(lines.join("")).not.toMatch(/canary|engine\.example/);
    expect(lines.join("")).toContain('"code":"23505"');
  });

  it("takes whatever else was thrown", () => {
    const { log, read } = openLog();
    const ring = new Error("ring");
    ring.cause = ring;
    for (const err of ["a text", null, 7, ring]) log.error({ err }, "thrown");
    expect(read().map(({ err }) => err.message)).toEqual(["a text", "null", "7", "ring"]);
  });

  it("hides what is called a secret", () => {
    const { log, lines } = openLog();
    log.info({ password: "canary", inner: { token: "canary", cookie: "canary" } }, "it");
    expect(lines.join("")).not.toContain("canary");
  });
});

describe("a plain line", () => {
  it("is one line of JSON, whatever its texts hold", () => {
    const { log, lines, read } = openLog();
    const hostile = '"}\n{"level":"fatal","msg":"forged"}\r\u001b[31m\\';
    writePlainLine(log, "info", { method: hostile, none: undefined, count: 0 }, "request");
    expect(lines).toHaveLength(1);
    expect(lines[0]?.indexOf("\n")).toBe((lines[0]?.length ?? 0) - 1);
    expect(read()).toEqual([
      { level: "info", time: expect.any(String), method: hostile, count: 0, msg: "request" },
    ]);
  });

  it.each([
    ["debug", ["debug", "info", "warn"]],
    ["info", ["info", "warn"]],
    ["warn", ["warn"]],
    ["silent", []],
  ])("is written by LOG_LEVEL: %s", (level, written) => {
    const { log, read } = openLog(level);
    for (const each of ["debug", "info", "warn"] as const) writePlainLine(log, each, {}, "it");
    expect(read().map((line) => line.level)).toEqual(written);
  });
});
