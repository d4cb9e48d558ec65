import type { Egress, EgressResponse } from "../../../lib/egress/egress.ts";
import type { ToolServerLink } from "../client/tool-server-client.ts";
import { ToolServerFailure } from "../client/tool-server-failure.ts";
import { type ClientInfo, type Dialect, type Spoken, writeMessage, writeReply } from "./dialect.ts";
import { toToolServerFailure } from "./egress-failure.ts";
import { broken, type Message, type Reply } from "./json-rpc.ts";
import { MAX_ANSWER_BYTES, type OnRequest, readAnswer, readRefusal } from "./read-answer.ts";

/** What came back for a request. */
export interface Asked {
  readonly status: number;
  /** Undefined where an error status came without one. */
  readonly reply: Reply | undefined;
  /** The session that a tool server opens with its handshake. */
  readonly sessionId: string | undefined;
}

export interface Ask {
  readonly server: ToolServerLink;
  /** Undefined in the handshake. */
  readonly dialect: Dialect | undefined;
  readonly message: Omit<Message, "id">;
  /** Sent with this message only. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Of the answer; MAX_ANSWER_BYTES when it is not given. */
  readonly maxBytes?: number;
}

/** What one POST needs beside its text. */
type Bounds = Pick<Ask, "signal" | "maxBytes">;

/** Single requests to tool servers, without memory of them. */
export interface Exchange {
  /** Rejects with a `ToolServerFailure`, or with the reason of the signal. */
  readonly ask: (ask: Ask) => Promise<Asked>;
  /** Sends a notification. What the server answers to it does not matter. */
  readonly tell: (ask: Ask) => Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Requests that a tool server may send before it answers one. */
const MAX_SERVER_REQUESTS = 16;
/** Messages that nobody waits for: the time of each, and how many there may be at once. */
const ASIDE_TIMEOUT_MS = 2_000;
const MAX_ASIDE = 16;

export function createExchange(egress: Egress, info: ClientInfo): Exchange {
  let lastId = 0;
  let asideCount = 0;

  const post = async (
    { url, headers, timeoutMs }: ToolServerLink,
    spoken: Spoken,
    { signal, maxBytes = MAX_ANSWER_BYTES }: Bounds,
  ): Promise<EgressResponse> => {
    try {
      return await egress.send(url, {
        method: "POST",
        headers: { ...lowered(headers), ...spoken.headers },
        body: spoken.body,
        signal,
        connectTimeoutMs: Math.min(timeoutMs, CONNECT_TIMEOUT_MS),
        maxBytes,
      });
    } catch (thrown) {
      throw toToolServerFailure(thrown);
    }
  };

  /** Sends what nobody waits for; beyond the limit it is dropped. */
  const postAside = (server: ToolServerLink, spoken: Spoken): void => {
    if (asideCount >= MAX_ASIDE) return;
    asideCount += 1;
    post(server, spoken, { signal: AbortSignal.timeout(ASIDE_TIMEOUT_MS) })
      .then(({ cancel }) => cancel())
      .catch(() => undefined)
      .finally(() => {
        asideCount -= 1;
      });
  };

  const answerRequests = ({ server, dialect }: Ask): OnRequest => {
    let requests = 0;
    return (request) => {
      requests += 1;
      if (requests > MAX_SERVER_REQUESTS) throw broken("The tool server sent too many requests.");
      postAside(server, writeReply(request, dialect));
    };
  };

  return {
    async ask(asked) {
      const { server, dialect, message, headers, signal } = asked;
      lastId += 1;
      const id = lastId;
      const spoken = writeMessage({ ...message, id }, dialect, info);
      try {
        const sent = { ...spoken, headers: { ...headers, ...spoken.headers } };
        const response = await post(server, sent, asked);
        return await readAsked(response, id, answerRequests(asked));
      } catch (thrown) {
        // In the modern era the closed connection says it.
        if (signal.aborted && dialect?.era === "legacy" && message.method === "tools/call") {
          const params = { requestId: id, reason: "The gateway no longer waits." };
          const cancelled = { method: "notifications/cancelled", params };
          postAside(server, writeMessage(cancelled, dialect, info));
        }
        throw thrown;
      }
    },

    async tell({ server, dialect, message, signal }) {
      const response = await post(server, writeMessage(message, dialect, info), { signal });
      response.cancel();
    },
  };
}

async function readAsked(
  response: EgressResponse,
  id: number,
  onRequest: OnRequest,
): Promise<Asked> {
  const { status } = response;
  const refusal = describeStatus(status);
  if (refusal !== undefined) {
    response.cancel();
    throw refusal;
  }
  const session = response.header("mcp-session-id");
  const reply =
    status < 300 ? await readAnswer(response, id, onRequest) : await readRefusal(response, id);
  return { status, reply, sessionId: session };
}

/** Describes a status whose body does not matter. */
function describeStatus(status: number): ToolServerFailure | undefined {
  if (status >= 300 && status < 400) {
    return new ToolServerFailure(
      "redirect",
      `The tool server redirects (status ${status}), which is not followed. Save the URL that it redirects to.`,
    );
  }
  if (status === 401 || status === 403) {
    return new ToolServerFailure(
      "unauthorized",
      `The tool server refuses access (status ${status}). Check the credentials in its headers.`,
    );
  }
  return status >= 500 || status === 429 ? refusedBy(status) : undefined;
}

/** Describes an error status. */
export function refusedBy(status: number): ToolServerFailure {
  const hint =
    status < 500 && status !== 429
      ? "Check that its URL is that of its MCP endpoint."
      : "Try again later.";
  return new ToolServerFailure(
    "refused",
    `The tool server answered with status ${status}. ${hint}`,
  );
}

function lowered(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
