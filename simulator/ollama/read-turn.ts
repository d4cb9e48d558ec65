import type { Call } from "../call.ts";
import { countPromptTokens } from "../content/render-prompt.ts";
import type { Tool, Turn, TurnMessage } from "../content/turn.ts";
import { type Json, numberOf, objectOf, stringOf } from "../json.ts";
import { can, type Model } from "../models.ts";
import { badRequest } from "./bad-request.ts";
import { findLocalModel, fullName } from "./find-local-model.ts";
import { readMessages, readTools } from "./read-messages.ts";

const DEFAULT_CONTEXT = 4096;
const levels: ReadonlySet<unknown> = new Set([true, false, "low", "medium", "high", "max"]);

/** Reads a request of `/api/chat`. Throws Ollama's errors. */
export function readTurn(call: Call): Turn {
  const { body } = call;
  const model = findLocalModel(call);
  const name = stringOf(body["model"])?.replace(/:latest$/, "");
  if (!can(model, "completion")) throw badRequest(`"${name}" does not support chat`);
  const tools = readTools(body["tools"]);
  if (tools.length > 0 && !can(model, "tools")) {
    throw badRequest(`registry.ollama.ai/library/${fullName(model)} does not support tools`);
  }
  const thinks = readThinking(body["think"], model, name);
  const messages = fitContext(readMessages(body["messages"]), { tools, body, model });
  if (messages.some(({ images }) => images > 0) && !can(model, "vision")) {
    throw badRequest("this model is missing data required for image input");
  }
  const options = objectOf(body["options"]) ?? {};
  const limit = numberOf(options["num_predict"]) ?? -1;
  return {
    model,
    messages,
    tools,
    toolChoice: tools.length > 0 ? "auto" : "none",
    maxTokens: limit > 0 ? limit : undefined,
    stop: readStop(options["stop"]),
    thinks,
    schema: readFormat(body["format"]),
    stream: body["stream"] !== false,
    topLogprobs: body["logprobs"] === true ? (numberOf(body["top_logprobs"]) ?? 0) : undefined,
    fingerprint: JSON.stringify([messages, tools, body["format"], options, body["think"]]),
  };
}

function readThinking(think: unknown, model: Model, name: string | undefined): boolean {
  if (think == null) return model.thinksByDefault ?? false;
  if (!levels.has(think)) {
    throw badRequest(
      `invalid think value: ${JSON.stringify(think)} (must be "high", "medium", "low", "max", true, or false)`,
    );
  }
  if (think === false) return false;
  if (can(model, "thinking")) return true;
  throw badRequest(`"${name}" does not support thinking`);
}

/**
 * Silently drops the oldest messages of a prompt that does not fit; the system message and the last message are kept.
 */
function fitContext(
  messages: readonly TurnMessage[],
  { tools, body, model }: { tools: readonly Tool[]; body: Json; model: Model },
): readonly TurnMessage[] {
  const wanted = numberOf(objectOf(body["options"])?.["num_ctx"]) ?? DEFAULT_CONTEXT;
  const room = Math.min(wanted, model.contextLength);
  if (countPromptTokens(messages, tools) <= room) return messages;
  if (body["truncate"] === false) throw badRequest("the input length exceeds the context length");
  const system = messages.filter(({ role }) => role === "system");
  let rest = messages.filter(({ role }) => role !== "system");
  while (rest.length > 1 && countPromptTokens([...system, ...rest], tools) > room) {
    rest = rest.slice(1);
  }
  return [...system, ...rest];
}

function readStop(value: unknown): string[] {
  if (value == null) return [];
  if (Array.isArray(value)) return value.filter((item) => typeof item === "string");
  throw badRequest('option "stop" must be of type array');
}

function readFormat(format: unknown): Json | undefined {
  if (format == null || format === "") return undefined;
  if (format === "json") return {};
  const schema = objectOf(format);
  if (schema) return schema;
  throw badRequest(
    `invalid format: ${JSON.stringify(format)}; expected "json" or a valid JSON Schema object`,
  );
}
