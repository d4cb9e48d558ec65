import type { LimitStatus } from "../core/limit-status.ts";
import type { Assistant } from "../knowledge/assistants/assistant.ts";
import { toAbortSignal } from "../lib/cancellation.ts";
import { runTool } from "../tools/run-tool.ts";
import type { Tool, ToolResult } from "../tools/tool.ts";
import { admitCall } from "./admit.ts";
import { type AssistantServices, toolLimitsOf } from "./assistant/assistant-services.ts";
import { type ClientCall, type Gateway, originOf } from "./gateway.ts";
import { CallMeter, type MeteringGateway } from "./meter/call-meter.ts";
import { meterWhole } from "./meter/meter.ts";

/** The part of the gateway that calls of tools need. */
export interface ToolGateway extends MeteringGateway, Pick<Gateway, "refusals"> {
  readonly assistants: AssistantServices;
}

export interface ToolCall {
  /** One of the tools that the caller sees. */
  readonly tool: Tool;
  /** The assistant through which the caller sees it. */
  readonly assistant: Assistant;
  /** The JSON text of its arguments, as received: parsing alone would change large numbers unseen. */
  readonly args: string;
  /** Returns true once the client has the status 200. */
  readonly isAnswered?: () => boolean;
}

export interface ToolReply {
  /**
   * Resolves when the tool has ended and its row is stored. A failure that the client's model should know of is a
   * result with `isError`. Rejects with a `ServiceError` when the call was aborted or its row cannot be stored.
   */
  readonly result: Promise<ToolResult>;
  /** The remaining limits of the caller's key; undefined when it has no limits. */
  readonly limits: LimitStatus | undefined;
}

const NO_TOKENS = { inputTokens: 0, outputTokens: 0 };

/**
 * Runs a tool for a client and writes the usage row, with the tool's name and 0 tokens. Resolves as soon as the tool
 * runs. Rejects with the 429 of the limit that refuses the call: a tool counts as a request, and a key whose tokens are
 * used up calls no tools either.
 */
export async function callTool(
  gateway: ToolGateway,
  client: ClientCall,
  { tool, assistant, args, isAnswered }: ToolCall,
): Promise<ToolReply> {
  const { caller, signal, requestId } = client;
  const admission = await admitCall(gateway, client, NO_TOKENS);
  const meter = new CallMeter(gateway, client, admission && { admission });
  meter.setAssistant(assistant.id);
  meter.setTool(tool.name);
  await meter.begin({ model: "", inputTokens: 0 });
  const context = {
    ...{ caller, assistant, origin: originOf(client) },
    signal: toAbortSignal(signal),
  };
  const running = runTool(tool, args, context, toolLimitsOf(gateway.assistants, requestId));
  const result = meterWhole(
    meter,
    running,
    ({ isError }) => ({ usage: NO_TOKENS, outcome: isError === true ? "error" : "ok" }),
    isAnswered,
  );
  // Whoever waits for it may do so later.
  result.catch(() => undefined);
  return { result, limits: admission?.status };
}
