import { expectDocumented } from "./documented-answer.ts";

/** An answer, read whole. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies that they then compare
  readonly body: any;
}

export interface HttpCall {
  readonly method?: string;
  readonly path: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A value is sent as JSON, a text as it is. */
  readonly body?: unknown;
}

const RESOURCE = /^\/(?:api|v1\/(?:(?:api|bi)-keys|files|assistants|vector_stores))(?:\/|$|\?)/;

let addresses = 0;

/** A client's address that no other call has had, for a server that believes one proxy. */
export function newAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

/**
 * Calls the server at `url`, from an address of its own unless the headers say one. An answer to a route of a resource
 * has to be what the OpenAPI document says.
 */
export async function callHttp(url: string, call: HttpCall): Promise<HttpAnswer> {
  const { method = "GET", path, token, headers, body } = call;
  const response = await fetch(url + path, {
    method,
    headers: {
      "x-forwarded-for": newAddress(),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type") === "application/json";
  const { status } = response;
  const answer = isJson ? JSON.parse(text) : undefined;
  if (isJson && RESOURCE.test(path)) {
    expectDocumented({ method, path, status, body: answer });
  }
  return { status, headers: response.headers, text, body: answer };
}

/** Logs in and returns the session's token. */
export async function logIn(url: string, username: string, password: string): Promise<string> {
  const { status, body } = await callHttp(url, {
    method: "POST",
    path: "/api/auth/login",
    body: { username, password },
  });
  if (status !== 200) throw new Error(`the login of ${username} was answered with ${status}`);
  return body.token;
}
