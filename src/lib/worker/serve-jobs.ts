import { belongToParent } from "./belong-to-parent.ts";
import { MessageReader, type ServerMessage, sendMessage, type WorkerMessage } from "./messages.ts";

/** Yields the parts of a named input as the server sends them, one for each time it is asked. */
export type ReadInput = (name: string) => AsyncGenerator<Buffer, void>;

/**
 * The main loop of a worker process: does one job after another, each a message on its input, and writes each result as
 * a message; a result's `data` goes as it is when it is bytes. It takes the next result only after the last one was
 * written, so a slow reader slows the work. A thrown error's `message`, and its `code` if that is a string, are reported
 * to the server. While a job waits for a part of an input, the next message is that part.
 */
export function serveJobs(
  work: (job: unknown, readInput: ReadInput) => AsyncIterable<unknown>,
): void {
  belongToParent();
  let last: Promise<void> = Promise.resolve();
  let takePart: ((part: Buffer | undefined) => void) | undefined;
  const nextPart = async (name: string): Promise<Buffer | undefined> => {
    const answer = new Promise<Buffer | undefined>((resolve) => {
      takePart = resolve;
    });
    await write({ needs: name });
    return answer;
  };
  async function* readInput(name: string): AsyncGenerator<Buffer, void> {
    for (let part = await nextPart(name); part !== undefined; part = await nextPart(name))
      yield part;
  }
  const messages = new MessageReader<ServerMessage>();
  process.stdin
    .on("data", (bytes) => {
      for (const { head, data } of messages.read(bytes)) {
        if ("job" in head) last = last.then(() => runJob(() => work(head.job, readInput)));
        else takePart?.(data);
      }
    })
    .on("end", () => process.exit(0));
}

async function runJob(work: () => AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const result of work()) {
      const data = bytesOf(result);
      if (data === undefined) await write({ result });
      else
        await write(
          { result: { ...(result as object), data: undefined }, bytes: data.length },
          data,
        );
    }
    await write({ isDone: true });
  } catch (thrown) {
    await write({ failure: failureOf(thrown) });
  }
}

function bytesOf(result: unknown): Uint8Array | undefined {
  const { data } = (result ?? {}) as { readonly data?: unknown };
  return data instanceof Uint8Array ? data : undefined;
}

function failureOf(thrown: unknown): { code: string | null; message: string } {
  if (!(thrown instanceof Error)) return { code: null, message: String(thrown) };
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : null;
  return { code, message: thrown.message };
}

function write(message: WorkerMessage, data?: Uint8Array): Promise<void> {
  return sendMessage(process.stdout, message, data);
}
