import { typeName } from "../../codecs/shared/client-names.ts";
import type { ChatRequest } from "../../core/chat/chat-request.ts";
import { withOnlyTools, withoutTools } from "./parameter-rules.ts";

/** Removes the tools that only Anthropic's models know, and the choice of one of them. */
export function withoutNativeTools(request: ChatRequest): ChatRequest {
  const tools = request.tools.filter(({ native }) => native === undefined);
  if (tools.length === request.tools.length) return request;
  return tools.length === 0 ? withoutTools(request) : withOnlyTools(request, tools);
}

/** Returns the names of removed tools that only Anthropic's models know, by their types. */
export function nativeToolsIgnored(asked: ChatRequest, sent: ChatRequest): readonly string[] {
  const kept = new Set(sent.tools.map(({ native }) => native));
  return asked.tools.flatMap(({ native }) =>
    native === undefined || kept.has(native) ? [] : [typeName("tools", native.type)],
  );
}
