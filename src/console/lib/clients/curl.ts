/** A call as somebody would type it. */
export type ShownCall = Call & Credential;

interface Call {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** With its query. */
  readonly path: string;
  /** What is sent as JSON. */
  readonly body?: unknown;
  /** A file that is sent as a form's field `file`. */
  readonly file?: string;
}

/** What opens it: an API key `sk-…`, a BI key `bk-…`, a session's token `ses_…`, or a service token `sv-…`. */
type Credential =
  | { readonly credential: "key" | "bi" | "session" }
  | {
      readonly credential: "token";
      /** What the token must allow, such as `usage:read`. */
      readonly scope: `${string}:${"read" | "write" | "run"}`;
    };

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

/** Returns what stands in the variable, as somebody has to get it first. */
export function wordsOfCredential(call: ShownCall): string {
  switch (call.credential) {
    case "key":
      return "GATEWAY_KEY is an API key, sk-….";
    case "bi":
      return "GATEWAY_BI_KEY is a BI key, bk-….";
    case "session":
      return "GATEWAY_SESSION is the token of a login, ses_…, from POST /api/auth/login: no other credential opens it.";
    case "token":
      return `GATEWAY_TOKEN is a service token, sv-…, with the scope ${call.scope}. Administrators issue it.`;
  }
}

/** Returns a text as one word of a POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
