import type { ChatRequest } from "../../../core/chat/chat-request.ts";
import { type ClientNames, saysSomething, typeName } from "../../shared/client-names.ts";
import { namesOfEffort, readOwnMetadata } from "../../shared/metadata-extension.ts";
import { countRequestSchema, isNativeType, type MessagesRequest } from "./wire.ts";
import { isHostedBlock } from "./wire-blocks.ts";

const KNOWN_FIELDS: ReadonlySet<string> = new Set(Object.keys(countRequestSchema.shape));

/** Returns how a client of the messages format names its parameters, and which of them have no effect. */
export function namesOf(request: MessagesRequest, chatRequest: ChatRequest): ClientNames {
  const { thinking, output_config, output_format, metadata } = request;
  const effort = [
    ...(thinking == null ? [] : ["thinking"]),
    ...(output_config?.effort == null ? [] : ["output_config.effort"]),
  ];
  const format = output_config?.format != null || output_format == null;
  return {
    own: () =>
      new Map([
        ["stop", ["stop_sequences"]],
        ["response_format", [format ? "output_config.format" : "output_format"]],
        ["parallel_tool_calls", ["tool_choice.disable_parallel_tool_use"]],
        ["reasoning_effort", namesOfEffort(metadata, effort)],
      ]),
    ignored: [
      ...unknownFields(request),
      ...ignoredTools(request, chatRequest),
      ...hostedBlocks(request),
    ],
  };
}

/** Returns fields that only their vendor supports: `mcp_servers`, `container`, `context_management`. */
function unknownFields(request: MessagesRequest): string[] {
  const names: string[] = [];
  for (const [name, value] of Object.entries(request)) {
    if (!KNOWN_FIELDS.has(name) && saysSomething(value)) names.push(name);
  }
  if (readOwnMetadata(request.metadata) !== undefined) names.push("metadata");
  const { thinking } = request;
  if (thinking?.type === "enabled" && thinking.budget_tokens != null) {
    names.push("thinking.budget_tokens");
  }
  return names;
}

function ignoredTools({ tools, tool_choice }: MessagesRequest, { toolChoice }: ChatRequest) {
  const names = (tools ?? []).flatMap(({ type }) =>
    type == null || type === "custom" || isNativeType(type) ? [] : [typeName("tools", type)],
  );
  const isForced = tool_choice?.type === "any" || tool_choice?.type === "tool";
  if (isForced && toolChoice === undefined) names.push("tool_choice");
  return names;
}

function hostedBlocks({ messages }: MessagesRequest): string[] {
  const names = new Set<string>();
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const block of content) {
      if (isHostedBlock(block)) names.add(typeName("messages", block.type));
    }
  }
  return [...names];
}
