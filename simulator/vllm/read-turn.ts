import type { Call } from "../call.ts";
import { countPromptTokens } from "../content/render-prompt.ts";
import type { Tool, Turn } from "../content/turn.ts";
import { type Json, numberOf, objectOf, stringOf, stringsOf } from "../json.ts";
import { can, type Model } from "../models.ts";
import { badRequest } from "./bad-request.ts";
import { findServedModel } from "./find-served-model.ts";
import { readMessages, readTools } from "./read-messages.ts";

const NOT_PART_OF_THE_ANSWER: ReadonlySet<string> = new Set([
  "stream",
  "stream_options",
  "logprobs",
  "top_logprobs",
  "user",
  "metadata",
  "model",
]);

/** Reads a chat-completions request. Throws vLLM's errors. */
export function readTurn(call: Call): Turn {
  const { body } = call;
  const model = findServedModel(call);
  if (!can(model, "completion")) {
    throw badRequest("The model does not support Chat Completions API", "model");
  }
  const messages = readMessages(body["messages"]);
  const tools = readTools(body["tools"]);
  const turn: Turn = {
    model,
    messages,
    tools,
    toolChoice: readToolChoice(body, tools, model),
    maxTokens: readMaxTokens(call, model, countPromptTokens(messages, tools)),
    stop: readStop(body["stop"]),
    thinks: readThinking(call, model),
    schema: readSchema(body["response_format"]),
    stream: body["stream"] === true,
    topLogprobs: body["logprobs"] === true ? (numberOf(body["top_logprobs"]) ?? 0) : undefined,
    fingerprint: fingerprint(body),
  };
  if (messages.some(({ images }) => images > 0) && !can(model, "vision")) {
    throw badRequest(`${model.name} is not a multimodal model`);
  }
  checkRanges(body);
  return turn;
}

function readToolChoice(body: Json, tools: readonly Tool[], model: Model): Turn["toolChoice"] {
  const choice: unknown = body["tool_choice"] ?? (tools.length > 0 ? "auto" : "none");
  if (Array.isArray(body["tools"]) && tools.length === 0) {
    throw badRequest("`tools` must not be an empty array", "tools");
  }
  if (choice === "none") return "none";
  if (tools.length === 0) throw badRequest("When using `tool_choice`, `tools` must be set.");
  if (choice === "auto" && !can(model, "tools")) {
    throw badRequest(
      '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    );
  }
  if (choice === "auto" || choice === "required") return choice;
  const name = stringOf(objectOf(objectOf(choice)?.["function"])?.["name"]);
  if (name && tools.some((tool) => tool.name === name)) return { name };
  throw badRequest(
    "The tool specified in `tool_choice` does not match any of the specified `tools`",
  );
}

function readMaxTokens({ body, options }: Call, model: Model, promptTokens: number) {
  const param = body["max_completion_tokens"] == null ? "max_tokens" : "max_completion_tokens";
  const wanted = body[param] ?? undefined;
  const { contextLength } = model;
  if (wanted !== undefined && (!Number.isInteger(wanted) || Number(wanted) < 1)) {
    throw badRequest(`${param} must be at least 1, got ${String(wanted)}.`, param);
  }
  const outputTokens = wanted === undefined ? 0 : Number(wanted);
  if (promptTokens + outputTokens > contextLength || promptTokens === contextLength) {
    throw overflow({ promptTokens, outputTokens, contextLength, param }, options.legacy);
  }
  return wanted === undefined ? contextLength - promptTokens : outputTokens;
}

function overflow(
  sizes: { promptTokens: number; outputTokens: number; contextLength: number; param: string },
  isLegacy: boolean,
): Error {
  const { promptTokens, outputTokens, contextLength, param } = sizes;
  if (isLegacy) {
    return badRequest(
      `This model's maximum context length is ${contextLength} tokens. However, you requested ${promptTokens + outputTokens} tokens (${promptTokens} in the messages, ${outputTokens} in the completion). Please reduce the length of the messages or completion.`,
    );
  }
  if (outputTokens > contextLength) {
    return badRequest(
      `${param}=${outputTokens}cannot be greater than max_model_len=max_total_tokens=${contextLength}. Please request fewer output tokens.`,
      param,
    );
  }
  return badRequest(
    `You passed ${promptTokens} input tokens and requested ${outputTokens} output tokens. However, the model's context length is only ${contextLength} tokens, resulting in a maximum input length of ${contextLength - outputTokens} tokens. Please reduce the length of the input prompt.`,
    "input_tokens",
  );
}

function readStop(value: unknown): string[] {
  const stop = stringsOf(value);
  const isKnown = value == null || typeof value === "string" || Array.isArray(value);
  if (!isKnown) throw badRequest("stop must be a string or a list of strings", "stop");
  return stop;
}

function readThinking({ body, options }: Call, model: Model): boolean {
  const effort = body["reasoning_effort"] ?? undefined;
  const known = options.legacy
    ? ["low", "medium", "high"]
    : ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
  if (effort !== undefined && !known.includes(String(effort))) {
    const words = known.map((word) => `'${word}'`).join(", ");
    throw badRequest(`reasoning_effort: Input should be ${words}`, "reasoning_effort");
  }
  if (!can(model, "thinking")) return false;
  const kwargs = objectOf(body["chat_template_kwargs"]) ?? {};
  const asked = kwargs["enable_thinking"] ?? kwargs["thinking"];
  if (typeof asked === "boolean") return asked;
  if (effort !== undefined && !options.legacy) return effort !== "none";
  return model.thinksByDefault ?? false;
}

function readSchema(format: unknown): Json | undefined {
  const { type, json_schema: wanted } = objectOf(format) ?? {};
  if (type === "json_object") return {};
  if (type === "json_schema") return objectOf(objectOf(wanted)?.["schema"]) ?? {};
  return undefined;
}

function checkRanges(body: Json): void {
  const temperature = body["temperature"];
  if (temperature != null && (typeof temperature !== "number" || temperature < 0)) {
    throw badRequest(
      `temperature must be non-negative, got ${String(temperature)}.`,
      "temperature",
    );
  }
  const topP = body["top_p"];
  if (topP != null && (typeof topP !== "number" || topP <= 0 || topP > 1)) {
    throw badRequest(`top_p must be in (0, 1], got ${String(topP)}.`, "top_p");
  }
  if (body["n"] != null && body["n"] !== 1)
    throw badRequest("this simulator supports only n=1", "n");
}

function fingerprint(body: Json): string {
  const entries = Object.entries(body).filter(([name]) => !NOT_PART_OF_THE_ANSWER.has(name));
  return JSON.stringify(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}
