export interface JsonReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body parsed; undefined when it is not JSON. */
  readonly body: unknown;
}

/** Posts a value as JSON, or a text as it is, and reads the whole answer. */
export async function postJson(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonReply> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
