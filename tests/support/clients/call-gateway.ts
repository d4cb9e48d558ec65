import { TEST_KEY } from "../servers/start-gateway.ts";
import { openRawClient, type RawClient, type RawResponse, rawRequest } from "./raw-client.ts";

export const CHAT_PATH = "/v1/chat/completions";

export interface GatewayRequest {
  readonly method?: string;
  readonly path?: string;
  /** Added to the key and the content type; undefined takes one away. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** A value is sent as JSON; a text or bytes as they are. */
  readonly body?: unknown;
}

/** Sends one request on a connection of its own and leaves it open. */
export async function openCall(port: number, request: GatewayRequest): Promise<RawClient> {
  const { method = "POST", path = CHAT_PATH } = request;
  const client = await openRawClient(port);
  const body = bytesOf(request.body);
  const wanted = {
    host: "127.0.0.1",
    authorization: `Bearer ${TEST_KEY}`,
    "content-type": "application/json",
    ...(body.length > 0 && { "content-length": String(body.length) }),
    ...request.headers,
  };
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(wanted)) {
    if (value !== undefined) headers[name] = value;
  }
  client.send(rawRequest(method, path, headers));
  client.send(body);
  return client;
}

/** Sends one request and reads its whole answer. */
export async function callGateway(
  port: number,
  request: GatewayRequest,
  timeoutMs?: number,
): Promise<RawResponse> {
  const client = await openCall(port, request);
  const method = request.method ?? "POST";
  try {
    return await client.readResponse({ method, ...(timeoutMs !== undefined && { timeoutMs }) });
  } finally {
    client.close();
  }
}

/** The body of a chat call of one question. */
export function chatBody(model: string, more: Readonly<Record<string, unknown>> = {}) {
  return { model, messages: [{ role: "user", content: "Tell me something." }], ...more };
}

function bytesOf(body: unknown): Uint8Array {
  if (body === undefined) return new Uint8Array();
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
