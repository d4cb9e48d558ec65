import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { decodeBase64Text } from "../../lib/text/base64-text.ts";
import { ProtocolError } from "./protocol-error.ts";
import { type McpRequest, paramsOf } from "./read-message.ts";
import { type Era, LEGACY_VERSIONS, MODERN_VERSIONS, VERSIONS } from "./versions.ts";

const PREFIX = "io.modelcontextprotocol/";
const VERSION_KEY = `${PREFIX}protocolVersion`;
const CAPABILITIES_KEY = `${PREFIX}clientCapabilities`;
const CLIENT_KEY = `${PREFIX}clientInfo`;
const VERSION_HEADER = "MCP-Protocol-Version";
const ENCODED = /^=\?base64\?(.*)\?=$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * Returns how a request speaks the protocol. The body decides; the headers of a modern request must agree with it,
 * because proxies decide by them. Throws a `ProtocolError`.
 */
export function readEra(request: McpRequest, headers: Headers): Era {
  const { _meta: meta } = isJsonObject(request.params) ? request.params : {};
  const named = headers.get(VERSION_HEADER);
  if (!isJsonObject(meta) || meta[VERSION_KEY] === undefined) {
    // The first request of a legacy client, whatever its headers are.
    if (request.method === "initialize" || named === null) return "legacy";
    if (MODERN_VERSIONS.includes(named)) throw envelopeError(`'_meta' lacks '${VERSION_KEY}'.`);
    if (!LEGACY_VERSIONS.includes(named)) throw unsupported(named);
    return "legacy";
  }
  const version = meta[VERSION_KEY];
  if (typeof version !== "string") throw envelopeError(`'${VERSION_KEY}' must be a string.`);
  // Before all else: a proxy has decided by the header.
  if (named !== null) checkHeader(VERSION_HEADER, named, version);
  if (LEGACY_VERSIONS.includes(version)) return "legacy";
  if (!MODERN_VERSIONS.includes(version)) throw unsupported(version);
  checkEnvelope(meta);
  checkHeader(VERSION_HEADER, named, version);
  checkHeader("Mcp-Method", headers.get("Mcp-Method"), request.method);
  if (request.method === "tools/call") checkName(request, headers.get("Mcp-Name"));
  return "modern";
}

function checkEnvelope(meta: JsonObject): void {
  if (!isJsonObject(meta[CAPABILITIES_KEY])) {
    throw envelopeError(`'_meta' lacks '${CAPABILITIES_KEY}', which must be an object.`);
  }
  const client = meta[CLIENT_KEY];
  if (client === undefined) return;
  const isNamed =
    isJsonObject(client) &&
    typeof client["name"] === "string" &&
    typeof client["version"] === "string";
  if (!isNamed) throw envelopeError(`'${CLIENT_KEY}' must be an object with name and version.`);
}

function checkName(request: McpRequest, header: string | null): void {
  const { name } = paramsOf(request);
  // The method itself refuses a name that is no string.
  if (typeof name === "string") checkHeader("Mcp-Name", header && decoded(header), name);
}

/** @param value is the header's; undefined when it cannot be decoded. */
function checkHeader(header: string, value: string | null | undefined, expected: string): void {
  if (value === expected) return;
  const fault =
    value === null
      ? `the header ${header} is missing`
      : `the header ${header} differs from the body`;
  throw new ProtocolError("headerMismatch", `Headers and body disagree: ${fault}.`);
}

/** Decodes a value that a header cannot hold as it is; undefined where that is no base64. Any other one is literal. */
export function decoded(value: string): string | undefined {
  const [, base64] = ENCODED.exec(value) ?? [];
  if (base64 === undefined) return value;
  return BASE64.test(base64) ? decodeBase64Text(base64) : undefined;
}

function envelopeError(message: string): ProtocolError {
  return new ProtocolError("invalidEnvelope", message);
}

function unsupported(requested: string): ProtocolError {
  return new ProtocolError(
    "unsupportedVersion",
    `This version of the protocol is not served; use one of ${VERSIONS.join(", ")}.`,
    { supported: VERSIONS, requested: requested.slice(0, 64) },
  );
}
