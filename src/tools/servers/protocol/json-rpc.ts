import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { isDeeperThan } from "../../../lib/json/json-depth.ts";
import { rawElements } from "../../../lib/json/raw-json.ts";
import { ToolServerFailure } from "../client/tool-server-failure.ts";

const MAX_DEPTH = 64;

/** A message to a tool server. Without an id it is a notification. */
export interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params: JsonObject;
}

/** What a tool server answers to a request. */
export type Reply =
  | {
      readonly result: JsonObject;
      /** The whole message as it came: parsing alone changes large numbers. */
      readonly text: string;
      readonly error?: undefined;
    }
  | { readonly error: ReplyError; readonly result?: undefined };

export interface ReplyError {
  readonly code: number;
  readonly message: string;
  readonly data: JsonValue | undefined;
}

/** A message from a tool server. */
export type Received =
  | { readonly kind: "reply"; readonly reply: Reply }
  | { readonly kind: "request"; readonly id: string | number; readonly method: string }
  | { readonly kind: "notification" };

/** Parses what a tool server sent. Throws a `ToolServerFailure`. */
function parseJson(text: string): JsonValue {
  if (isDeeperThan(MAX_DEPTH, Buffer.from(text))) {
    throw broken("The tool server's answer is nested too deeply.");
  }
  try {
    return JSON.parse(text) as JsonValue;
  } catch (thrown) {
    throw broken("The tool server's answer is not valid JSON.", { cause: thrown });
  }
}

/** Reads a message that came as the answer to the request of this id. Throws a `ToolServerFailure`. */
export function readReceived(sent: string, id: number): Received {
  const { message, text } = onlyMessage(parseJson(sent), sent);
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") {
    throw broken("The tool server's answer is no JSON-RPC 2.0 message.");
  }
  const { method, id: sentId } = message;
  if (typeof method === "string") {
    const isRequest = typeof sentId === "string" || typeof sentId === "number";
    return isRequest ? { kind: "request", id: sentId, method } : { kind: "notification" };
  }
  const reply = readReply(message, text);
  // A server that could not read the request does not know its id.
  const isUnread = reply.error !== undefined && (sentId === null || sentId === undefined);
  if (sentId !== id && !isUnread) {
    throw broken("The tool server answered another request than the one that it was sent.");
  }
  return { kind: "reply", reply };
}

/** The oldest version of the protocol has lists of messages. */
function onlyMessage(parsed: JsonValue, text: string) {
  if (!Array.isArray(parsed) || parsed.length !== 1) return { message: parsed, text };
  return { message: parsed[0] as JsonValue, text: rawElements(text)[0] ?? text };
}

function readReply({ result, error }: JsonObject, text: string): Reply {
  if (isJsonObject(error) && result === undefined) {
    const { code, message, data } = error;
    if (typeof code === "number") {
      return { error: { code, message: typeof message === "string" ? message : "", data } };
    }
  }
  if (isJsonObject(result) && error === undefined) return { result, text };
  throw broken("The tool server's answer has neither a result nor an error.");
}

export function broken(message: string, options?: ErrorOptions): ToolServerFailure {
  return new ToolServerFailure("protocol", message, options);
}
