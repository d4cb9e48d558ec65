import { createInterface } from "node:readline";
import { belongToParent } from "./belong-to-parent.ts";
import type { InputMessage, WorkerMessage } from "./worker-process.ts";

/** Yields the parts of a named input as the server sends them, one for each time it is asked. */
export type ReadInput = (name: string) => AsyncGenerator<Buffer, void>;

/**
 * The main loop of a worker process: does one job after another, each a line of JSON on its input, and writes each
 * result as a line. It takes the next result only after the last one was written, so a slow reader slows the work. A
 * thrown error's `message`, and its `code` if that is a string, are reported to the server. While a job waits for a part
 * of an input, the next line is that part.
 */
export function serveJobs(
  work: (job: unknown, readInput: ReadInput) => AsyncIterable<unknown>,
): void {
  belongToParent();
  let last: Promise<void> = Promise.resolve();
  let takePart: ((line: string) => void) | undefined;
  const nextPart = async (name: string): Promise<string | null> => {
    const answer = new Promise<string>((resolve) => {
      takePart = resolve;
    });
    await write({ needs: name });
    return (JSON.parse(await answer) as InputMessage).part;
  };
  async function* readInput(name: string): AsyncGenerator<Buffer, void> {
    for (let part = await nextPart(name); part !== null; part = await nextPart(name))
      yield Buffer.from(part, "base64");
  }
  createInterface({ input: process.stdin })
    .on("line", (line) => {
      const take = takePart;
      takePart = undefined;
      if (take !== undefined) take(line);
      else last = last.then(() => runJob(() => work(JSON.parse(line), readInput)));
    })
    .on("close", () => process.exit(0));
}

async function runJob(work: () => AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const result of work()) await write({ result });
    await write({ isDone: true });
  } catch (thrown) {
    await write({ failure: failureOf(thrown) });
  }
}

function failureOf(thrown: unknown): { code: string | null; message: string } {
  if (!(thrown instanceof Error)) return { code: null, message: String(thrown) };
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : null;
  return { code, message: thrown.message };
}

function write(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write(`${JSON.stringify(message)}\n`, () => resolve());
  });
}
