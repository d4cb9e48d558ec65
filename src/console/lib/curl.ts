/** A call as somebody would type it. */
export interface ShownCall {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** With its query. */
  readonly path: string;
  /** What is sent as JSON. */
  readonly body?: unknown;
  /** A file that is sent as a form's field `file`. */
  readonly file?: string;
  /** What opens it: an API key `sk-…`, a service token `sv-…`, a BI key `bk-…` or a session's token `ses_…`. */
  readonly credential: "key" | "token" | "bi" | "session";
}

const VARIABLES = {
  key: "GATEWAY_KEY",
  token: "GATEWAY_TOKEN",
  bi: "GATEWAY_BI_KEY",
  session: "GATEWAY_SESSION",
};

/** Returns the call as a `curl` command for a POSIX shell, with the credential in a variable. */
export function curlOf(call: ShownCall, origin: string): string {
  const { method, path, body, file, credential } = call;
  const lines = [
    `curl ${method === "GET" ? "" : `-X ${method} `}${shellQuote(`${origin}${path}`)}`,
    `-H "Authorization: Bearer $${VARIABLES[credential]}"`,
  ];
  if (body !== undefined) {
    lines.push(
      `-H 'Content-Type: application/json'`,
      `-d ${shellQuote(JSON.stringify(body, null, 2))}`,
    );
  }
  if (file !== undefined) lines.push(`-F ${shellQuote(`file=@${file}`)}`);
  return lines.join(" \\\n  ");
}

/** Returns a text as one word of a POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
