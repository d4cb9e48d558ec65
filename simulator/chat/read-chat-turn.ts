import { makeTurn } from "../content/make-turn.ts";
import type { Tool, Turn, TurnMessage } from "../content/turn.ts";
import { type Json, numberOf, objectOf, objectsOf, stringOf, stringsOf } from "../json.ts";
import type { Model } from "../models.ts";

/** Converts a checked chat-completions body to a turn. */
export function readChatTurn(body: Json, model: Model, thinks: boolean): Turn {
  const tools = readChatTools(body["tools"]);
  return makeTurn({
    model,
    messages: readChatMessages(body["messages"]),
    tools,
    toolChoice: readChatChoice(body["tool_choice"], tools),
    maxTokens: numberOf(body["max_completion_tokens"]) ?? numberOf(body["max_tokens"]),
    stop: stringsOf(body["stop"]),
    thinks,
    schema: readFormat(body["response_format"]),
    stream: body["stream"] === true,
    topLogprobs: body["logprobs"] === true ? (numberOf(body["top_logprobs"]) ?? 0) : undefined,
  });
}

function readChatMessages(value: unknown): TurnMessage[] {
  return objectsOf(value).map((message) => ({
    role: stringOf(message["role"]) ?? "user",
    ...readContent(message["content"]),
    extra: readExtra(message),
  }));
}

function readContent(content: unknown): { text: string; images: number } {
  if (typeof content === "string") return { text: content, images: 0 };
  const parts = objectsOf(content);
  const texts = parts.flatMap((part) => stringOf(part["text"]) ?? stringOf(part["refusal"]) ?? []);
  const images = parts.filter(({ type }) => type === "image_url").length;
  return { text: texts.join("\n"), images };
}

function readExtra(message: Json): string {
  const calls = objectsOf(message["tool_calls"]).map((call) => {
    const { name, arguments: text } = objectOf(call["function"]) ?? {};
    return `<|call|>${String(name)}${String(text)}`;
  });
  const thought = message["reasoning"] ?? message["reasoning_content"];
  const parts = objectsOf(message["content"])
    .filter(({ type }) => type === "thinking")
    .flatMap(({ thinking }) => objectsOf(thinking).map(({ text }) => String(text)));
  return `${stringOf(thought) ?? ""}${parts.join("")}${calls.join("")}`;
}

function readChatTools(value: unknown): Tool[] {
  return objectsOf(value).map((item) => {
    const definition = objectOf(item["function"]) ?? {};
    return {
      name: String(definition["name"]),
      description: stringOf(definition["description"]) ?? "",
      parameters: objectOf(definition["parameters"]) ?? {},
    };
  });
}

function readChatChoice(choice: unknown, tools: readonly Tool[]): Turn["toolChoice"] {
  if (tools.length === 0 || choice === "none") return "none";
  if (choice === "required" || choice === "any") return "required";
  const name = stringOf(objectOf(objectOf(choice)?.["function"])?.["name"]);
  return name === undefined ? "auto" : { name };
}

function readFormat(format: unknown): Json | undefined {
  const { type, json_schema: wanted } = objectOf(format) ?? {};
  if (type === "json_object") return {};
  if (type === "json_schema") return objectOf(objectOf(wanted)?.["schema"]) ?? {};
  return undefined;
}
