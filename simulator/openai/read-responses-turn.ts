import { makeTurn } from "../content/make-turn.ts";
import type { Tool, Turn, TurnMessage } from "../content/turn.ts";
import { type Json, numberOf, objectOf, objectsOf, stringOf } from "../json.ts";
import type { Model } from "../models.ts";

/** Converts a checked responses body to a turn. */
export function readResponsesTurn(body: Json, model: Model, thinks: boolean): Turn {
  const tools = readTools(body["tools"]);
  return makeTurn({
    model,
    messages: readInput(body),
    tools,
    toolChoice: readChoice(body["tool_choice"], tools),
    maxTokens: numberOf(body["max_output_tokens"]),
    stop: [],
    thinks,
    schema: readFormat(objectOf(body["text"])?.["format"]),
    stream: body["stream"] === true,
  });
}

/** Several items of one role, merged into one message. */
interface Growing {
  role: string;
  text: string;
  images: number;
  extra: string;
}

function readInput({ input, instructions }: Json): TurnMessage[] {
  const messages: Growing[] = [];
  const opening = stringOf(instructions) ?? "";
  if (opening !== "") messages.push({ role: "system", text: opening, images: 0, extra: "" });
  if (typeof input === "string") {
    messages.push({ role: "user", text: input, images: 0, extra: "" });
  }
  for (const item of objectsOf(input)) addItem(messages, item);
  return messages;
}

/** Adds an item. A call belongs to the assistant message before it. */
function addItem(messages: Growing[], item: Json): void {
  const type = stringOf(item["type"]) ?? "message";
  if (type === "message") {
    messages.push({ role: String(item["role"]), ...readContent(item["content"]), extra: "" });
  }
  if (type.endsWith("_output")) {
    messages.push({ role: "tool", ...readContent(item["output"]), extra: "" });
  }
  if (type !== "function_call" && type !== "custom_tool_call") return;
  const extra = `<|call|>${String(item["name"])}${String(item["arguments"] ?? item["input"])}`;
  const last = messages.at(-1);
  if (last?.role === "assistant") last.extra += extra;
  else messages.push({ role: "assistant", text: "", images: 0, extra });
}

function readContent(content: unknown): { text: string; images: number } {
  if (typeof content === "string") return { text: content, images: 0 };
  const parts = objectsOf(content);
  const texts = parts.flatMap((part) => stringOf(part["text"]) ?? stringOf(part["refusal"]) ?? []);
  const images = parts.filter(({ type }) => type === "input_image").length;
  return { text: texts.join("\n"), images };
}

/** Reads the tools: functions, custom tools as functions with one text, and the tools in namespaces. */
function readTools(value: unknown): Tool[] {
  return objectsOf(value).flatMap((item) => {
    const name = String(item["name"]);
    const description = stringOf(item["description"]) ?? "";
    switch (item["type"]) {
      case "function":
        return { name, description, parameters: objectOf(item["parameters"]) ?? {} };
      case "custom":
        return { name, description, parameters: customParameters };
      case "namespace":
        return readTools(item["tools"]);
      default:
        return [];
    }
  });
}

const customParameters: Json = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
};

function readChoice(choice: unknown, tools: readonly Tool[]): Turn["toolChoice"] {
  if (tools.length === 0 || choice === "none") return "none";
  if (choice === "required") return "required";
  const name = stringOf(objectOf(choice)?.["name"]);
  return name === undefined ? "auto" : { name };
}

function readFormat(format: unknown): Json | undefined {
  const { type, schema } = objectOf(format) ?? {};
  if (type === "json_object") return {};
  return type === "json_schema" ? (objectOf(schema) ?? {}) : undefined;
}
