import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { CUT_MARK } from "../../process/data-process.ts";
import type { ReadFailure, ReadRequest } from "../../process/process-messages.ts";
import type { StatementReader } from "./read-statement.ts";
import { AnswerCut } from "./run-limits.ts";

/** A statement of 128 KiB and its parameters, as JSON. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
/** The status of every answer that is a `ReadFailure`: the server decides on the client's one. */
const REFUSED = 422;

/**
 * Answers `POST /read` on the private socket. An answer that is cut ends with `CUT_MARK`, so that no reader takes it for
 * whole.
 */
export async function serveRead(
  { read }: StatementReader,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  const closed = new Promise<void>((resolve) => {
    response.once("close", () => {
      gone.abort();
      resolve();
    });
  });
  try {
    const answer = await read(await bodyOf(request), gone.signal);
    if (answer.failure !== undefined) {
      refuse(response, answer.failure);
      return;
    }
    response.writeHead(200, { "content-type": answer.contentType });
    for await (const bytes of answer.body) {
      if (gone.signal.aborted) return;
      if (!response.write(bytes)) await Promise.race([once(response, "drain"), closed]);
    }
    response.end();
  } catch (thrown) {
    if (thrown instanceof AnswerCut) response.end(Buffer.of(CUT_MARK));
    else if (response.headersSent) response.destroy();
    else refuse(response, { code: "58000", message: (thrown as Error).message });
  }
}

function refuse(response: ServerResponse, failure: ReadFailure): void {
  const body = JSON.stringify(failure);
  response.writeHead(REFUSED, { "content-type": "application/json" }).end(body);
}

async function bodyOf(request: IncomingMessage): Promise<ReadRequest> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error("The body of a read is too large.");
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as ReadRequest;
}
