import type { IncomingMessage, ServerResponse } from "node:http";
import { FEED_TEXT_MAX, type FeedRequest } from "../../copy/copy-messages.ts";
import type { CopyEngine } from "./copy-engine.ts";

/** Escapes in JSON may double a text, and it has some names around it. */
const MAX_BODY_BYTES = FEED_TEXT_MAX * 4;

/** Answers `POST /copy` on the private socket: one request of the server's feed. */
export async function serveFeed(
  { applyFeed }: Pick<CopyEngine, "applyFeed">,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const value = await applyFeed(await bodyOf(request));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    response.writeHead(500, { "content-type": "text/plain; charset=utf-8" }).end(text);
  }
}

async function bodyOf(request: IncomingMessage): Promise<FeedRequest> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error("A request of the feed is too large.");
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as FeedRequest;
}
