import { cleanLine } from "../clean/clean-text.ts";
import type { ToolServerLink } from "../client/tool-server-client.ts";
import { ToolServerFailure } from "../client/tool-server-failure.ts";
import {
  type ClientInfo,
  type Dialect,
  isSessionId,
  LEGACY_VERSIONS,
  speaksModern,
  supportedVersions,
} from "./dialect.ts";
import { type Asked, type Exchange, refusedBy } from "./exchange.ts";
import { broken } from "./json-rpc.ts";
import { describeError } from "./reply-error.ts";

const UNSUPPORTED_VERSION = -32022;
const MAX_VERSIONS_SHOWN = 80;

/**
 * Finds out how a tool server is spoken to: first the version without handshake, which one request shows, then the
 * older ones. Rejects with a `ToolServerFailure`, or with the reason of the signal.
 */
export async function negotiate(
  exchange: Exchange,
  info: ClientInfo,
  server: ToolServerLink,
  signal: AbortSignal,
): Promise<Dialect> {
  const modern: Dialect = { era: "modern" };
  const discovered = await discover(exchange, server, signal);
  const result = discovered?.reply?.result;
  if (result !== undefined && speaksModern(result)) return modern;
  const error = discovered?.reply?.error;
  if (error?.code === UNSUPPORTED_VERSION) checkVersions(supportedVersions(error.data));
  return shakeHands(exchange, info, server, signal);
}

/** Older servers answer with any error, also with one of the server, or with something that is no answer. */
async function discover(
  { ask }: Exchange,
  server: ToolServerLink,
  signal: AbortSignal,
): Promise<Asked | undefined> {
  const message = { method: "server/discover", params: {} };
  try {
    return await ask({ server, dialect: { era: "modern" }, message, signal });
  } catch (thrown) {
    const isFailure = thrown instanceof ToolServerFailure;
    if (isFailure && (thrown.reason === "protocol" || thrown.reason === "refused"))
      return undefined;
    throw thrown;
  }
}

async function shakeHands(
  { ask, tell }: Exchange,
  info: ClientInfo,
  server: ToolServerLink,
  signal: AbortSignal,
): Promise<Dialect> {
  const [protocolVersion] = LEGACY_VERSIONS;
  const params = { protocolVersion, capabilities: {}, clientInfo: { ...info } };
  const message = { method: "initialize", params };
  const { status, reply, sessionId } = await ask({ server, dialect: undefined, message, signal });
  if (reply === undefined) throw refusedBy(status);
  if (reply.error !== undefined) {
    const text = `The tool server refused the handshake: ${describeError(reply.error)}`;
    throw new ToolServerFailure("refused", text);
  }
  const { protocolVersion: version } = reply.result;
  if (typeof version !== "string") throw broken("The tool server's handshake names no version.");
  checkVersions([version]);
  if (sessionId !== undefined && !isSessionId(sessionId)) {
    throw broken("The tool server's session id cannot be sent back.");
  }
  const dialect: Dialect = { era: "legacy", version, sessionId };
  const initialized = { method: "notifications/initialized", params: {} };
  await tell({ server, dialect, message: initialized, signal });
  return dialect;
}

/** Throws when none of the server's versions is known here. No version at all says nothing. */
function checkVersions(versions: readonly string[]): void {
  const known: readonly string[] = LEGACY_VERSIONS;
  if (versions.length === 0 || versions.some((version) => known.includes(version))) return;
  const named = cleanLine(versions.join(", "), MAX_VERSIONS_SHOWN);
  throw broken(`The tool server speaks version ${named} of the protocol, which is unknown here.`);
}
