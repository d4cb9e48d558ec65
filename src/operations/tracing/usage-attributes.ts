import type { Attributes } from "@opentelemetry/api";
import type { Channel } from "../../core/channel.ts";
import type { TracedRequest, TracedUsage } from "./tracing.ts";

/** What the conventions for generative AI call an operation; they have no word yet for transcriptions. */
const OPERATIONS: Readonly<Record<Channel, string>> = {
  chat: "chat",
  messages: "chat",
  responses: "chat",
  embeddings: "embeddings",
  audio: "transcription",
  mcp: "execute_tool",
};

/** What the conventions call a backend, where that is not its own name. */
const PROVIDERS: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** `chat llama3.2` and the like. */
export function usageSpanName({ channel, model }: TracedUsage): string {
  return `${OPERATIONS[channel]} ${model}`;
}

/** A call to a model in the words of OpenTelemetry's conventions for generative AI; what they lack has `gateway.` before it. */
export function usageAttributes(
  usage: TracedUsage,
  { backend, errorCode }: Pick<TracedRequest, "backend" | "errorCode">,
): Attributes {
  const { outcome, cachedTokens, reasoningTokens, firstTokenMs } = usage;
  const wasAnswered = outcome === "ok" || firstTokenMs !== null;
  return {
    "gen_ai.operation.name": OPERATIONS[usage.channel],
    ...(backend !== undefined && { "gen_ai.provider.name": PROVIDERS[backend] ?? backend }),
    "gen_ai.request.model": usage.model,
    ...(wasAnswered && { "gen_ai.response.model": usage.model }),
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    ...(cachedTokens > 0 && { "gen_ai.usage.cache_read.input_tokens": cachedTokens }),
    ...(reasoningTokens > 0 && { "gen_ai.usage.reasoning.output_tokens": reasoningTokens }),
    ...(firstTokenMs !== null && { "gateway.time_to_first_token_ms": firstTokenMs }),
    ...(outcome !== "ok" && { "error.type": errorCode ?? outcome }),
    ...(usage.keyId !== "" && { "gateway.key.id": usage.keyId }),
    "gateway.channel": usage.channel,
    "gateway.outcome": outcome,
  };
}
