import type { EgressResponse } from "../../../lib/egress/egress.ts";
import { EgressError } from "../../../lib/egress/egress-error.ts";
import { SseReader } from "../../../lib/http/sse-reader.ts";
import { cleanLine } from "../clean/clean-text.ts";
import { ToolServerFailure } from "../client/tool-server-failure.ts";
import { toToolServerFailure } from "./egress-failure.ts";
import { broken, type Received, type Reply, readReceived } from "./json-rpc.ts";

/** Of one answer, with everything that comes before it in its stream. */
export const MAX_ANSWER_BYTES = 4 * 2 ** 20;
/** Messages before the answer, such as notifications of progress. */
const MAX_MESSAGES = 10_000;
const MAX_TYPE_SHOWN = 80;

/** Receives a request of the tool server, which may come before its answer. */
export type OnRequest = (request: Extract<Received, { kind: "request" }>) => void;

/** Reads the answer to the request of this id, and closes its connection. Rejects with a `ToolServerFailure`. */
export async function readAnswer(
  response: EgressResponse,
  id: number,
  onRequest: OnRequest,
): Promise<Reply> {
  try {
    return await readByType(response, id, onRequest);
  } catch (thrown) {
    if (thrown instanceof EgressError && thrown.reason === "failed") {
      const text = "The tool server closed the connection before its answer was complete.";
      throw broken(text, { cause: thrown });
    }
    throw toToolServerFailure(thrown);
  } finally {
    response.cancel();
  }
}

/** Returns the answer with which a tool server refuses a request by an error status, if it gives one. */
export async function readRefusal(
  response: EgressResponse,
  id: number,
): Promise<Reply | undefined> {
  const isJson = mediaTypeOf(response) === "application/json";
  try {
    return isJson ? await readJsonAnswer(response, id) : undefined;
  } catch (thrown) {
    const failure = toToolServerFailure(thrown);
    // Its status tells more than a body that is no answer.
    if (failure instanceof ToolServerFailure && failure.reason === "protocol") return undefined;
    throw failure;
  } finally {
    response.cancel();
  }
}

async function readByType(
  response: EgressResponse,
  id: number,
  onRequest: OnRequest,
): Promise<Reply> {
  const { status } = response;
  const type = mediaTypeOf(response);
  const encoding = response.header("content-encoding") ?? "identity";
  if (encoding !== "identity") {
    throw broken("The tool server's answer is compressed, which the request does not allow.");
  }
  if (type === "text/event-stream") return readStream(response, id, onRequest);
  if (type === "application/json") return readJsonAnswer(response, id);
  const found = type === "" ? "nothing" : cleanLine(type, MAX_TYPE_SHOWN);
  throw broken(
    `The tool server answered with status ${status} and ${found} in place of JSON or an event stream. Check that its URL is that of its MCP endpoint.`,
  );
}

async function readJsonAnswer(response: EgressResponse, id: number): Promise<Reply> {
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body) pieces.push(piece);
  const received = readReceived(Buffer.concat(pieces).toString(), id);
  if (received.kind === "reply") return received.reply;
  throw broken("The tool server's answer has neither a result nor an error.");
}

async function readStream(
  { body }: EgressResponse,
  id: number,
  onRequest: OnRequest,
): Promise<Reply> {
  let messages = 0;
  let reply: Reply | undefined;
  const onEvent = (data: string, name: string | undefined) => {
    // An event without data only gives the stream a position.
    if (reply !== undefined || data === "" || (name ?? "message") !== "message") return;
    messages += 1;
    if (messages > MAX_MESSAGES) throw broken("The tool server sent too many messages.");
    const received = readReceived(data, id);
    if (received.kind === "reply") reply = received.reply;
    else if (received.kind === "request") onRequest(received);
  };
  const onTooLong = () => {
    throw broken("The tool server sent an event that is too long.");
  };
  const reader = new SseReader(MAX_ANSWER_BYTES, { onEvent, onTooLong });
  for await (const piece of body) {
    reader.read(piece);
    if (reply !== undefined) return reply;
  }
  reader.end();
  if (reply !== undefined) return reply;
  throw broken("The tool server ended its stream before the answer.");
}

function mediaTypeOf(response: EgressResponse): string {
  return response.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
