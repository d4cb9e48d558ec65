import type { Attributes } from "@opentelemetry/api";
import type { Channel } from "../../core/channel.ts";
import type { TracedRequest, TracedUsage } from "./tracing.ts";

/** Operation names of the conventions for generative AI, which have no name for transcriptions yet. */
const OPERATIONS: Readonly<Record<Channel, string>> = {
  chat: "chat",
  messages: "chat",
  responses: "chat",
  embeddings: "embeddings",
  audio: "transcription",
  mcp: "execute_tool",
};

/** Provider names of the conventions that differ from the backend's name. */
const PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** Returns names such as `chat llama3.2` and `execute_tool find_files`. */
export function usageSpanName({ channel, model, toolName }: TracedUsage): string {
  return `${OPERATIONS[channel]} ${toolName ?? model}`;
}

/**
 * Returns the attributes of the call of a model, or of a tool, in OpenTelemetry's conventions for generative AI; attributes they lack are
 * prefixed with `gateway.`.
 */
export function usageAttributes(
  usage: TracedUsage,
  { backend, errorCode }: Pick<TracedRequest, "backend" | "errorCode">,
): Attributes {
  const { outcome, cachedTokens, reasoningTokens, firstTokenMs } = usage;
  return {
    "gen_ai.operation.name": OPERATIONS[usage.channel],
    ...(backend !== undefined && { "gen_ai.provider.name": PROVIDERS[backend] ?? backend }),
    ...calledAttributes(usage),
    ...(cachedTokens > 0 && { "gen_ai.usage.cache_read.input_tokens": cachedTokens }),
    ...(reasoningTokens > 0 && { "gen_ai.usage.reasoning.output_tokens": reasoningTokens }),
    ...(firstTokenMs !== null && { "gateway.time_to_first_token_ms": firstTokenMs }),
    ...(outcome !== "ok" && { "error.type": errorCode ?? outcome }),
    ...(usage.keyId !== "" && { "gateway.key.id": usage.keyId }),
    "gateway.channel": usage.channel,
    "gateway.outcome": outcome,
  };
}

/** Returns what was called, with the tokens that a model used. */
function calledAttributes(usage: TracedUsage): Attributes {
  const { toolName, model, outcome, firstTokenMs } = usage;
  if (toolName !== undefined) return { "gen_ai.tool.name": toolName };
  const wasAnswered = outcome === "ok" || firstTokenMs !== null;
  return {
    "gen_ai.request.model": model,
    ...(wasAnswered && { "gen_ai.response.model": model }),
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
  };
}
