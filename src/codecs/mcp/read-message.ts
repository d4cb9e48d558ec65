import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { invalidValue } from "../shared/check-request.ts";
import { ProtocolError } from "./protocol-error.ts";

export type RequestId = string | number;

/** A request. Notifications and answers of a client need nothing but an acknowledgement. */
export interface McpRequest {
  readonly id: RequestId;
  readonly method: string;
  /** As received; checked by each method. */
  readonly params: unknown;
}

export type McpMessage = McpRequest | "no-answer";

/**
 * Reads one message of a client. Throws `invalid_value` for a body that is no object, and a `ProtocolError` for an
 * object that is no message.
 */
export function readMessage(body: unknown): McpMessage {
  if (Array.isArray(body)) {
    throw new ServiceError(
      "invalid_value",
      "Batches are not served; send each message in a request of its own.",
    );
  }
  if (!isJsonObject(body)) throw invalidValue([], "a JSON-RPC message, which is an object", body);
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== "2.0") {
    throw new ProtocolError("invalidRequest", "'jsonrpc' must be \"2.0\".");
  }
  if (method === undefined && ("result" in body || "error" in body)) return "no-answer";
  if (typeof method !== "string") {
    throw new ProtocolError("invalidRequest", "'method' must be a string.");
  }
  if (id === undefined) return "no-answer";
  if (!isRequestId(id)) {
    throw new ProtocolError("invalidRequest", "'id' must be a string or an integer.");
  }
  return { id, method, params };
}

/** Larger integers do not survive parsing: the client would not recognise its own id. */
function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || Number.isSafeInteger(id);
}

/** Returns the parameters of a request, an object; empty when there are none. */
export function paramsOf({ params = {} }: McpRequest): JsonObject {
  if (isJsonObject(params)) return params;
  throw new ProtocolError("invalidParams", "'params' must be an object.");
}
