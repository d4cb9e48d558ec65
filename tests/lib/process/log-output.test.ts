import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openLogOutput } from "../../../src/lib/process/log-output.ts";

const MEBIBYTE = 1024 * 1024;

type Done = (error?: Error | null) => void;

/** An outlet whose reader takes a write when the test says so. */
function createOutlet() {
  const writes: { readonly text: string; readonly done: Done }[] = [];
  return {
    writes,
    write: (text: string, done: Done) => void writes.push({ text, done }),
    on: () => undefined,
  };
}

const line = (message: string) => `${JSON.stringify({ msg: message })}\n`;

describe("the log's output", () => {
  it("writes the lines of a moment together, in their order", async () => {
    const outlet = createOutlet();
    const output = openLogOutput(outlet);
    for (const word of ["one", "two", "three"]) output.write(line(word));
    await sleep(100);
    expect(outlet.writes.map(({ text }) => text)).toEqual([
      line("one") + line("two") + line("three"),
    ]);
  });

  it("has one write under way at a time", async () => {
    const outlet = createOutlet();
    const output = openLogOutput(outlet);
    output.write(line("one"));
    await sleep(50);
    output.write(line("two"));
    await sleep(50);
    expect(outlet.writes).toHaveLength(1);
    outlet.writes[0]?.done();
    expect(outlet.writes[1]?.text).toBe(line("two"));
  });

  it("keeps a bounded amount for a reader that stands still, and tells later how much was lost", async () => {
    const outlet = createOutlet();
    const output = openLogOutput(outlet);
    const long = line("x".repeat(MEBIBYTE - 100));
    output.write(line("first"));
    await sleep(50);
    for (let count = 0; count < 10; count += 1) output.write(long);
    outlet.writes[0]?.done();
    const written = outlet.writes[1]?.text ?? "";
    expect(written.length).toBeLessThanOrEqual(4 * MEBIBYTE + 1_000);
    const lines = written.trimEnd().split("\n");
    const told = JSON.parse(lines.pop() ?? "");
    expect(lines.length).toBeGreaterThan(0);
    expect(told).toMatchObject({ level: "warn", lines: 10 - lines.length });
  });

  it("goes on after a write that failed, and counts its lines as lost", async () => {
    const outlet = createOutlet();
    const output = openLogOutput(outlet);
    output.write(line("one") + line("two"));
    await sleep(50);
    outlet.writes[0]?.done(new Error("EPIPE"));
    output.write(line("three"));
    await sleep(50);
    expect(outlet.writes[1]?.text).toBe(line("three"));
    outlet.writes[1]?.done();
    expect(JSON.parse(outlet.writes[2]?.text ?? "")).toMatchObject({ lines: 2 });
  });

  it("is flushed at once when the process ends, and waits no longer than it may", async () => {
    const outlet = createOutlet();
    const output = openLogOutput(outlet);
    output.write(line("last"));
    const flushed = output.flush(10_000).then(() => "flushed");
    expect(outlet.writes[0]?.text).toBe(line("last"));
    outlet.writes[0]?.done();
    expect(await flushed).toBe("flushed");
    output.write(line("stuck"));
    await output.flush(20);
    await openLogOutput(createOutlet()).flush(10_000);
  });

  it("escapes what a terminal obeys or takes for a line's end, and the line stays the same JSON", async () => {
    const outlet = createOutlet();
    const output = openLogOutput(outlet);
    const hostile = "a\u009b31mb\u007fc\u2028d\u2029e\u0085f";
    output.write(line(hostile));
    void output.flush(1_000);
    const text = outlet.writes[0]?.text ?? "";
    expect(text).toMatch(/^[\x20-\x7e]+\n$/);
    expect(JSON.parse(text)).toEqual({ msg: hostile });
  });
});
