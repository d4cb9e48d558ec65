import {
  discoverResult,
  encodeProtocolError,
  encodeResult,
  initializeResult,
  listResult,
  type ServerFacts,
} from "../../codecs/mcp/encode-answer.ts";
import { ProtocolError } from "../../codecs/mcp/protocol-error.ts";
import { readEra } from "../../codecs/mcp/read-era.ts";
import { type McpRequest, paramsOf, readMessage } from "../../codecs/mcp/read-message.ts";
import { pageOfTools, readAskedVersion } from "../../codecs/mcp/read-params.ts";
import { type Era, negotiate } from "../../codecs/mcp/versions.ts";
import type { Deps } from "../../deps.ts";
import type { OpenCall } from "../../gateway/open-calls.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Tool } from "../../tools/tool.ts";
import { type BoundTools, boundTools } from "../../tools/visible-tools.ts";
import { type BodyLimits, readJsonBody } from "../bodies/read-json-body.ts";
import { openQuietCall } from "../request/open-quiet-call.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { callMcp } from "./documentation/mcp-documentation.ts";
import { answerToolCall, type McpCall } from "./mcp-tool-call.ts";

/** Arguments of a tool are short. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const NO_TOOLS =
  "This credential has no tools. Use an API key that is bound to an assistant which has tools.";

/** `POST /mcp`. */
export function mcpRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  router.add(callMcp, async (context, caller) => {
    const open = openQuietCall(deps, context);
    try {
      const limits = bodyLimits(deps, open);
      const { body, text } = await readJsonBody(context.req.raw, limits);
      return await answer(deps, context, { caller, open, body, text });
    } catch (thrown) {
      open.close();
      throw thrown;
    }
  });
  return router;
}

function bodyLimits({ settings }: Deps, open: OpenCall): BodyLimits {
  const { GATEWAY_MAX_BODY_BYTES: most, MAX_JSON_DEPTH: maxDepth } = settings;
  const size =
    most <= MAX_BODY_BYTES
      ? { maxBytes: most }
      : { maxBytes: MAX_BODY_BYTES, isFixed: true as const };
  return { ...size, maxDepth, signal: open.signal, hold: (bytes) => open.holdBody(bytes) };
}

interface Received extends Pick<McpCall, "caller" | "open" | "text"> {
  readonly body: unknown;
}

/** Closes the call unless its answer is still to come. */
async function answer(
  deps: Deps,
  context: RequestContext,
  { caller, open, body, text }: Received,
): Promise<Response> {
  let request: McpRequest | undefined;
  let era: Era = "legacy";
  try {
    const message = readMessage(body);
    if (message === "no-answer") {
      open.close();
      return new Response(null, { status: 202 });
    }
    request = message;
    era = readEra(request, context.req.raw.headers);
    const { known } = deps.knowledge.assistants;
    const bound = boundTools({ registry: deps.tools, known }, caller);
    const params = paramsOf(request);
    const call = { request, era, params, text, context, caller, bound, open };
    if (request.method === "tools/call") return await answerToolCall(deps, call);
    const result = resultOf(call, factsOf(deps, bound));
    open.close();
    return json(encodeResult(request.id, result, { era, version: deps.version }));
  } catch (thrown) {
    if (!(thrown instanceof ProtocolError)) throw thrown;
    open.close();
    return json(encodeProtocolError(request?.id, thrown), thrown.statusIn(era));
  }
}

/** Returns the result of a method that needs no more than what is known. */
function resultOf({ request, era, params, bound }: McpCall, facts: ServerFacts): JsonObject {
  const { method } = request;
  if (method === "tools/list") {
    const page = pageOfTools(bound.tools, params);
    return listResult({ ...page, tools: page.tools.map(listed) }, era);
  }
  if (era === "modern") {
    if (method === "server/discover") return discoverResult(facts);
  } else {
    if (method === "initialize")
      return initializeResult(negotiate(readAskedVersion(params)), facts);
    if (method === "ping") return {};
  }
  throw new ProtocolError("methodNotFound", `The method '${method.slice(0, 64)}' is not served.`);
}

function factsOf({ version }: Deps, { assistant, tools }: BoundTools): ServerFacts {
  const instructions = tools.length === 0 ? NO_TOOLS : (assistant?.description ?? "");
  return { version, instructions };
}

function listed({ name, description, parameters, outputSchema, level, source }: Tool) {
  return { name, description, parameters, outputSchema, level, isOpenWorld: source === "mcp" };
}

function json(body: string, status = 200): Response {
  return new Response(body, { status, headers: { "content-type": "application/json" } });
}
