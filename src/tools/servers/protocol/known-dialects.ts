import { createHash } from "node:crypto";
import { untilAborted } from "../../../lib/until-aborted.ts";
import type { ToolServerLink } from "../client/tool-server-client.ts";
import { ToolServerFailure } from "../client/tool-server-failure.ts";
import type { Dialect } from "./dialect.ts";
import type { Asked } from "./exchange.ts";

export type Negotiate = (server: ToolServerLink, signal: AbortSignal) => Promise<Dialect>;

/** How each tool server is spoken to, so that a call needs no handshake. */
export interface KnownDialects {
  /** Uses the known dialect; one that is unknown, or that the server no longer accepts, is negotiated first. */
  readonly use: (
    server: ToolServerLink,
    signal: AbortSignal,
    ask: (dialect: Dialect) => Promise<Asked>,
  ) => Promise<Asked>;
}

const MAX_KNOWN = 256;
const INVALID_PARAMS = -32602;

export function createKnownDialects(negotiate: Negotiate): KnownDialects {
  /** In the order of their last use. */
  const known = new Map<string, Dialect>();
  const negotiating = new Map<string, Promise<Dialect>>();

  const remember = (key: string, dialect: Dialect) => {
    known.delete(key);
    known.set(key, dialect);
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  };

  /** Calls that start together share one handshake, and so one session. */
  const negotiateOnce = async (
    key: string,
    server: ToolServerLink,
    signal: AbortSignal,
  ): Promise<Dialect> => {
    for (;;) {
      const current = negotiating.get(key);
      if (current === undefined) break;
      try {
        return await untilAborted(current, signal);
      } catch (thrown) {
        // The one that negotiated was given up: that tells nothing about the server.
        if (signal.aborted || thrown instanceof ToolServerFailure) throw thrown;
      }
    }
    const mine = negotiate(server, signal);
    negotiating.set(key, mine);
    try {
      const dialect = await mine;
      remember(key, dialect);
      return dialect;
    } finally {
      negotiating.delete(key);
    }
  };

  return {
    async use(server, signal, ask) {
      const key = keyOf(server);
      const dialect = known.get(key);
      if (dialect !== undefined) {
        remember(key, dialect);
        const asked = await ask(dialect);
        if (!isStale(asked, dialect)) return asked;
        if (known.get(key) === dialect) known.delete(key);
      }
      return ask(known.get(key) ?? (await negotiateOnce(key, server, signal)));
    },
  };
}

/**
 * Whether the server may have forgotten the session, or may speak another version since an update. It has refused the
 * request before running it, so the request may be repeated.
 */
function isStale({ status, reply }: Asked, { era }: Dialect): boolean {
  // In the modern era wrong arguments have such a status, too.
  const isCall = era === "modern" && reply?.error?.code === INVALID_PARAMS;
  return (status === 400 || status === 404) && !isCall;
}

/** Servers at one URL are different ones where the credentials are. */
function keyOf({ url, headers }: ToolServerLink): string {
  return createHash("sha256")
    .update(JSON.stringify([url, Object.entries(headers).sort()]))
    .digest("base64");
}
