import { makeTurn } from "../content/make-turn.ts";
import type { Tool, Turn, TurnMessage } from "../content/turn.ts";
import { type Json, numberOf, objectOf, objectsOf, stringOf, stringsOf } from "../json.ts";
import type { Model } from "../models.ts";

/** Converts a checked messages body to a turn. */
export function readMessagesTurn(body: Json, model: Model, thinks: boolean): Turn {
  const tools = readTools(body["tools"]);
  const format = objectOf(objectOf(body["output_config"])?.["format"]);
  return makeTurn({
    model,
    messages: [...readSystem(body["system"]), ...objectsOf(body["messages"]).flatMap(readMessage)],
    tools,
    toolChoice: readChoice(objectOf(body["tool_choice"]), tools),
    maxTokens: numberOf(body["max_tokens"]),
    stop: stringsOf(body["stop_sequences"]),
    thinks,
    schema: objectOf(format?.["schema"]),
    stream: body["stream"] === true,
  });
}

function readSystem(system: unknown): TurnMessage[] {
  const { images, text } = readContent(system);
  return text === "" ? [] : [{ role: "system", text, images, extra: "" }];
}

/** Reads a message. Results come first, each as a separate message, then the rest of the content. */
function readMessage(message: Json): TurnMessage[] {
  const role = String(message["role"]);
  const { content } = message;
  if (typeof content === "string") return [{ role, text: content, images: 0, extra: "" }];
  const blocks = objectsOf(content);
  const results = blocks
    .filter(({ type }) => type === "tool_result")
    .map((block) => ({ role: "tool", ...readContent(block["content"]), extra: "" }));
  const others = blocks.filter(({ type }) => type !== "tool_result");
  if (others.length === 0 && results.length > 0) return results;
  return [...results, { role, ...readContent(others), extra: readExtra(others) }];
}

function readContent(content: unknown): { text: string; images: number } {
  if (typeof content === "string") return { text: content, images: 0 };
  const blocks = objectsOf(content);
  const texts = blocks.flatMap(({ text, type }) => (type === "text" ? [String(text)] : []));
  return { text: texts.join("\n"), images: blocks.filter(({ type }) => type === "image").length };
}

function readExtra(blocks: readonly Json[]): string {
  return blocks
    .map(({ input, name, thinking, type }) => {
      if (type === "thinking") return String(thinking);
      return type === "tool_use" ? `<|call|>${String(name)}${JSON.stringify(input)}` : "";
    })
    .join("");
}

/** Reads the client's own tools; server tools are ignored here. */
function readTools(value: unknown): Tool[] {
  return objectsOf(value)
    .filter(({ type }) => type === undefined || type === "custom")
    .map((item) => ({
      name: String(item["name"]),
      description: stringOf(item["description"]) ?? "",
      parameters: objectOf(item["input_schema"]) ?? {},
    }));
}

function readChoice(choice: Json | undefined, tools: readonly Tool[]): Turn["toolChoice"] {
  if (tools.length === 0) return "none";
  switch (choice?.["type"]) {
    case "none":
      return "none";
    case "any":
      return "required";
    case "tool":
      return { name: String(choice["name"]) };
    default:
      return "auto";
  }
}
