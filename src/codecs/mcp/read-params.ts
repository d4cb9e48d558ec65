import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { decodeBase64Text, encodeBase64Text } from "../../lib/text/base64-text.ts";
import { ProtocolError } from "./protocol-error.ts";

export interface CallParams {
  readonly name: string;
  readonly args: JsonObject;
}

/** Reads the parameters of `tools/call`. The arguments are checked against the tool's schema when it runs. */
export function readCallParams({ name, arguments: args = {} }: JsonObject): CallParams {
  if (typeof name !== "string") throw invalid("'params.name' must be a string.");
  if (!isJsonObject(args)) throw invalid("'params.arguments' must be an object.");
  return { name, args };
}

/** Reads the version that a client asks for in `initialize`. */
export function readAskedVersion({ protocolVersion }: JsonObject): string {
  if (typeof protocolVersion === "string") return protocolVersion;
  throw invalid("'params.protocolVersion' must be a string.");
}

/** Tools of one answer. */
const PAGE_TOOLS = 200;
const CURSOR = /^after:([A-Za-z0-9_-]{1,64})$/;

/**
 * Returns the page of a list that the parameters of `tools/list` ask for. A cursor names the last tool of the page
 * before, so tools that come and go meanwhile shift nothing.
 *
 * @param tools in the order of their names.
 */
export function pageOfTools<Tool extends { readonly name: string }>(
  tools: readonly Tool[],
  { cursor }: JsonObject,
): { readonly tools: readonly Tool[]; readonly nextCursor?: string } {
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const rest = after === undefined ? tools : tools.filter(({ name }) => name > after);
  const page = rest.slice(0, PAGE_TOOLS);
  const last = page.at(-1);
  if (last === undefined || rest.length === page.length) return { tools: page };
  return { tools: page, nextCursor: encodeBase64Text(`after:${last.name}`) };
}

function readCursor(cursor: unknown): string {
  const text = typeof cursor === "string" ? decodeBase64Text(cursor) : undefined;
  const name = CURSOR.exec(text ?? "")?.[1];
  if (name !== undefined) return name;
  throw invalid("'params.cursor' must be the 'nextCursor' of an earlier answer.");
}

function invalid(message: string): ProtocolError {
  return new ProtocolError("invalidParams", message);
}
