import { TEST_KEY } from "../support/servers/start-gateway.ts";
import type { Body, EngineGateway } from "./engine-gateway.ts";

/** A responses call as plain as it can be: any body at all, past the types of the client. */
export function postResponse(
  { gateway }: EngineGateway,
  body: unknown,
  headers: Body = {},
): Promise<Response> {
  return fetch(`${gateway.url}/v1/responses`, {
    method: "POST",
    headers: {
      ...(headers as Record<string, string>),
      authorization: `Bearer ${TEST_KEY}`,
      "content-type": "application/json",
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
