import { checkMarkedArguments } from "../../codecs/mcp/check-marked-arguments.ts";
import { callResult, encodeProtocolError, encodeResult } from "../../codecs/mcp/encode-answer.ts";
import { ProtocolError } from "../../codecs/mcp/protocol-error.ts";
import type { McpRequest } from "../../codecs/mcp/read-message.ts";
import { readCallParams } from "../../codecs/mcp/read-params.ts";
import type { Era } from "../../codecs/mcp/versions.ts";
import type { Caller } from "../../core/callers/caller.ts";
import type { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { callTool } from "../../gateway/call-tool.ts";
import type { OpenCall } from "../../gateway/open-calls.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { rawMember } from "../../lib/json/raw-json.ts";
import { markedArguments } from "../../tools/servers/protocol/parameter-headers.ts";
import type { BoundTools } from "../../tools/visible-tools.ts";
import { answerLate } from "../answers/late-answer.ts";
import { judgeEarly } from "../bodies/read-call-body.ts";
import { logInternalError } from "../request/log-internal-error.ts";
import type { RequestContext } from "../request/routes/route.ts";

/** One request with what its answer depends on. */
export interface McpCall {
  readonly request: McpRequest;
  readonly era: Era;
  readonly params: JsonObject;
  /** The body as received. */
  readonly text: string;
  readonly context: RequestContext;
  readonly caller: Caller;
  readonly bound: BoundTools;
  readonly open: OpenCall;
}

/**
 * Answers `tools/call`, and closes the call when the answer is complete. Throws or rejects with a `ProtocolError`, or
 * with the `ServiceError` of a call that is refused or ended before its status was sent.
 */
export async function answerToolCall(deps: Deps, call: McpCall): Promise<Response> {
  const { context, caller, bound, open, request, params, text, era } = call;
  const { requestId, arrivedAt: startedAt, line, trace, address, errorForm } = context.env;
  const channel = "mcp" as const;
  const overload = deps.callGate.refusal(true);
  if (overload !== undefined) {
    await deps.callGate.turn();
    throw overload;
  }
  // A key that is used up is told so, whatever it calls.
  await judgeEarly(deps, context, { caller, channel });
  const { name, args } = readCallParams(params);
  const tool = bound.tools.find((one) => one.name === name);
  if (bound.assistant === undefined) throw unboundCaller(name);
  if (tool === undefined) throw unknownTool(name);
  if (era === "modern") {
    checkMarkedArguments(markedArguments(tool.parameters, args), context.req.raw.headers);
  }
  const { assistant } = bound;
  let isAnswered = false;
  const client = { requestId, caller, channel, address, startedAt, signal: open.signal };
  const reply = await callTool(
    deps.gateway,
    { ...client, observer: line, trace },
    { tool, assistant, args: rawArguments(text), isAnswered: () => isAnswered },
  );
  open.releaseBody();
  const said = reply.limits && errorForm.sayLimits(reply.limits, deps.clock.now());
  return answerLate({
    text: reply.result.then((result) =>
      encodeResult(request.id, callResult(result, era, tool), {
        era,
        version: deps.version,
        structuredText: result.content?.structuredText,
      }),
    ),
    maySwitch: readsEventStreams(context.req.raw.headers.get("accept")),
    keepaliveMs: deps.settings.STREAM_KEEPALIVE_MS,
    headers: said ?? {},
    onStream() {
      isAnswered = true;
      open.beginStream();
    },
    failureText(error) {
      line.error = error;
      // An error that follows from the client's disconnect is not a failure.
      if (!open.signal.aborted) logInternalError(deps.log, error, requestId);
      return encodeProtocolError(request.id, asProtocolError(error));
    },
    abort: () => open.abort(),
    onEnd: () => open.close(),
  });
}

function rawArguments(text: string): string {
  return rawMember(rawMember(text, "params") ?? "{}", "arguments") ?? "{}";
}

/** The official clients name both forms. Those that name none are given JSON or streams as any other. */
function readsEventStreams(accept: string | null): boolean {
  return accept === null || /text\/event-stream|text\/\*|\*\/\*/i.test(accept);
}

/** A tool that the caller cannot see looks like one that does not exist. */
function unknownTool(name: string): ProtocolError {
  return new ProtocolError(
    "invalidParams",
    `Unknown tool: '${name.slice(0, 64)}'. 'tools/list' lists the tools that this key may call.`,
  );
}

function unboundCaller(name: string): ProtocolError {
  return new ProtocolError(
    "invalidParams",
    `Unknown tool: '${name.slice(0, 64)}'. Tools are those of an assistant: use an API key that is bound to one (its 'assistant_id').`,
  );
}

function asProtocolError({ message }: ServiceError): ProtocolError {
  return new ProtocolError("internalError", message);
}
