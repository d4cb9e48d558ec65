import Anthropic from "@anthropic-ai/sdk";
import { TEST_KEY } from "../support/servers/start-gateway.ts";
import type { EngineGateway } from "./engine-gateway.ts";

/** The official client of the messages format. It does not retry: a refused call is seen as it is. */
export function anthropicBefore(world: EngineGateway): Anthropic {
  return new Anthropic({ baseURL: world.gateway.url, apiKey: TEST_KEY, maxRetries: 0 });
}

/** A call as plain as it can be: any body at all, past the types of the client. */
export function postMessages(
  world: EngineGateway,
  body: unknown,
  { path = "/v1/messages", headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  return fetch(world.gateway.url + path, {
    method: "POST",
    headers: { "x-api-key": TEST_KEY, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
