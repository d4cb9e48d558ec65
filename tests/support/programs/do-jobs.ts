import { appendFileSync } from "node:fs";
import { serveJobs } from "../../../src/lib/worker/serve-jobs.ts";

/** What a worker process is asked to do in tests. */
export type TestJob =
  | { readonly kind: "count"; readonly to: number; readonly bytes?: number }
  | { readonly kind: "describe" | "spin" | "allocate" | "retain" | "refuse" | "exit" | "chatter" }
  | { readonly kind: "sign"; readonly file: string }
  | { readonly kind: "echo"; readonly inputs: readonly string[] };

const retained: Buffer[] = [];

serveJobs(async function* work(job, readInput) {
  const asked = job as TestJob;
  switch (asked.kind) {
    case "count":
      for (let index = 0; index < asked.to; index += 1)
        yield { index, at: Date.now(), filler: "x".repeat(asked.bytes ?? 0) };
      return;
    case "describe":
      // biome-ignore lint/style/noProcessEnv: that it is empty is what the test is about
      yield { pid: process.pid, environment: Object.keys(process.env) };
      return;
    case "spin":
      yield { pid: process.pid };
      for (;;);
    case "allocate":
      for (;;) retained.push(Buffer.alloc(1_048_576, retained.length % 256));
    case "retain":
      for (let mib = 0; mib < 160; mib += 1) retained.push(Buffer.alloc(1_048_576, 1));
      yield { pid: process.pid };
      return;
    case "refuse":
      throw Object.assign(new Error("This is refused."), { code: "refused" });
    case "exit":
      process.exit(3);
      return;
    case "chatter":
      // biome-ignore lint/suspicious/noConsole: libraries do
      console.log("a warning");
      yield { pid: process.pid };
      return;
    case "echo":
      for (const name of asked.inputs)
        for await (const part of readInput(name)) yield { name, bytes: part.length };
      return;
    case "sign":
      appendFileSync(asked.file, `${process.pid}\n`);
      yield null;
      return;
  }
});
