import type { Egress } from "../../../lib/egress/egress.ts";
import { readResult } from "../clean/read-result.ts";
import type { ClientInfo, Dialect } from "../protocol/dialect.ts";
import { type Asked, createExchange, refusedBy } from "../protocol/exchange.ts";
import { broken, type Reply } from "../protocol/json-rpc.ts";
import { createKnownDialects } from "../protocol/known-dialects.ts";
import { negotiate } from "../protocol/negotiate.ts";
import { parameterHeaders } from "../protocol/parameter-headers.ts";
import { MAX_ANSWER_BYTES } from "../protocol/read-answer.ts";
import { describeError } from "../protocol/reply-error.ts";
import { createListTools, listTooLarge, MAX_LIST_BYTES, type ReadToolPage } from "./list-tools.ts";
import type { ToolServerClient } from "./tool-server-client.ts";
import { ToolServerFailure } from "./tool-server-failure.ts";

export interface ToolServerClientParts {
  readonly egress: Egress;
  /** How the gateway introduces itself. */
  readonly info: ClientInfo;
  /** Bytes of a tool's result that are of use; MAX_ANSWER_BYTES when it is not given. */
  readonly maxResultBytes?: number;
}

const MAX_CURSOR_LENGTH = 4_096;

/**
 * Builds the client. It writes its own requests instead of using the protocol's library: that one reads answers without
 * limit, waits for the time limit where an answer is invalid, opens listening streams and reconnects by itself, and
 * compiles schemas of servers that nobody trusts.
 */
export function createToolServerClient({
  egress,
  info,
  maxResultBytes = MAX_ANSWER_BYTES,
}: ToolServerClientParts): ToolServerClient {
  const exchange = createExchange(egress, info);
  const dialects = createKnownDialects((server, signal) =>
    negotiate(exchange, info, server, signal),
  );

  const readPage: ReadToolPage = async (server, cursor, signal) => {
    const message = { method: "tools/list", params: cursor === undefined ? {} : { cursor } };
    const ask = (dialect: Dialect) =>
      exchange
        .ask({ server, dialect, message, signal, maxBytes: MAX_LIST_BYTES })
        .catch(nameLargeList);
    const reply = replyOf(await dialects.use(server, signal, ask));
    if (reply.error !== undefined) {
      const text = `The tool server refused to list its tools: ${describeError(reply.error)}`;
      throw new ToolServerFailure("refused", text);
    }
    const { tools, nextCursor: next } = reply.result;
    if (!Array.isArray(tools)) throw broken("The tool server's list of tools is no list.");
    const isCursor = typeof next === "string" && next.length <= MAX_CURSOR_LENGTH;
    return { tools, nextCursor: isCursor ? next : undefined };
  };
  const listTools = createListTools(readPage);

  return {
    list: (server, signal) =>
      withinTime(server.timeoutMs, signal, (limited) => listTools(server, limited)),

    call: (server, { name, args, inputSchema }, signal) =>
      withinTime(server.timeoutMs, signal, async (limited) => {
        const message = { method: "tools/call", params: { name, arguments: args } };
        const ask = (dialect: Dialect) => {
          const isModern = dialect.era === "modern" && inputSchema !== undefined;
          const headers = isModern ? parameterHeaders(inputSchema, args) : {};
          return exchange.ask({ server, dialect, message, headers, signal: limited });
        };
        const reply = replyOf(await dialects.use(server, limited, ask));
        if (reply.error === undefined) {
          return readResult(reply.result, maxResultBytes, reply.text);
        }
        return {
          text: `The tool server reports: ${describeError(reply.error)}`,
          isError: true,
        };
      }),
  };
}

function nameLargeList(thrown: unknown): never {
  const isTooLarge = thrown instanceof ToolServerFailure && thrown.reason === "too_large";
  throw isTooLarge ? listTooLarge({ cause: thrown }) : thrown;
}

function replyOf({ status, reply }: Asked): Reply {
  if (reply === undefined) throw refusedBy(status);
  return reply;
}

/** Runs work whose signal also aborts after `timeoutMs`. Nothing stays behind at the caller's signal. */
async function withinTime<Result>(
  timeoutMs: number,
  signal: AbortSignal,
  work: (limited: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const limit = new AbortController();
  const leave = () => limit.abort(signal.reason);
  const timer = setTimeout(() => limit.abort(tookTooLong(timeoutMs)), timeoutMs);
  signal.addEventListener("abort", leave, { once: true });
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", leave);
  }
}

function tookTooLong(timeoutMs: number): ToolServerFailure {
  const seconds = timeoutMs / 1_000;
  return new ToolServerFailure(
    "timeout",
    `The tool server did not answer within ${seconds} seconds.`,
  );
}
