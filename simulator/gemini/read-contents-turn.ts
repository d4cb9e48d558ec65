import { makeTurn } from "../content/make-turn.ts";
import type { Tool, Turn, TurnMessage } from "../content/turn.ts";
import { type Json, numberOf, objectOf, objectsOf, stringOf, stringsOf } from "../json.ts";
import type { Model } from "../models.ts";

/** Converts a checked generateContent body to a turn. */
export function readContentsTurn(
  body: Json,
  model: Model,
  { stream, thinks }: { readonly stream: boolean; readonly thinks: boolean },
): Turn {
  const config = objectOf(body["generationConfig"]) ?? {};
  const tools = readTools(body["tools"]);
  const system = objectOf(body["systemInstruction"]);
  const opening = system ? readContent({ ...system, role: "system" }) : [];
  return makeTurn({
    model,
    messages: [...opening, ...objectsOf(body["contents"]).flatMap(readContent)],
    tools,
    toolChoice: readChoice(body, tools),
    maxTokens: numberOf(config["maxOutputTokens"]),
    stop: stringsOf(config["stopSequences"]),
    thinks,
    schema: readFormat(config),
    stream,
  });
}

/** Reads a content. Function responses come first, each as a separate message, then the other parts. */
function readContent(content: Json): TurnMessage[] {
  const role = content["role"] === "model" ? "assistant" : String(content["role"] ?? "user");
  const parts = objectsOf(content["parts"]);
  const responses = objectsOf(parts.map((part) => part["functionResponse"]));
  const results = responses.map((response) => ({
    role: "tool",
    text: textOf(objectOf(response["response"]) ?? {}),
    images: objectsOf(response["parts"]).length,
    extra: "",
  }));
  const others = parts.filter((part) => part["functionResponse"] === undefined);
  if (others.length === 0 && results.length > 0) return results;
  const texts = others.flatMap(({ text, thought }) =>
    typeof text === "string" && thought !== true ? [text] : [],
  );
  const images = others.filter(({ fileData, inlineData }) => inlineData ?? fileData).length;
  return [...results, { role, text: texts.join("\n"), images, extra: readExtra(others) }];
}

/** Returns the text of a function response: the object's only value if it is one string. */
function textOf(response: Json): string {
  const values = Object.values(response);
  const [only] = values;
  return values.length === 1 && typeof only === "string" ? only : JSON.stringify(response);
}

function readExtra(parts: readonly Json[]): string {
  return parts
    .map((part) => {
      if (part["thought"] === true) return stringOf(part["text"]) ?? "";
      const call = objectOf(part["functionCall"]);
      return call ? `<|call|>${String(call["name"])}${JSON.stringify(call["args"] ?? {})}` : "";
    })
    .join("");
}

function readTools(value: unknown): Tool[] {
  const tools = Array.isArray(value) ? objectsOf(value) : objectsOf([value]);
  return tools
    .flatMap((tool) => objectsOf(tool["functionDeclarations"]))
    .map((declaration) => ({
      name: String(declaration["name"]),
      description: stringOf(declaration["description"]) ?? "",
      parameters: readSchema(declaration["parametersJsonSchema"] ?? declaration["parameters"]),
    }));
}

/** Reads a schema; older schemas write their types in capitals. */
function readSchema(value: unknown): Json {
  const text = JSON.stringify(objectOf(value) ?? {});
  return JSON.parse(
    text.replace(/"type":"([A-Z]+)"/g, (_, type: string) => `"type":"${type.toLowerCase()}"`),
  );
}

function readChoice(body: Json, tools: readonly Tool[]): Turn["toolChoice"] {
  const config = objectOf(objectOf(body["toolConfig"])?.["functionCallingConfig"]) ?? {};
  const mode = String(config["mode"] ?? "AUTO").toUpperCase();
  if (tools.length === 0 || mode === "NONE") return "none";
  if (mode !== "ANY") return "auto";
  const [only, ...others] = stringsOf(config["allowedFunctionNames"]);
  return only !== undefined && others.length === 0 ? { name: only } : "required";
}

function readFormat(config: Json): Json | undefined {
  if (config["responseMimeType"] !== "application/json") return undefined;
  return readSchema(config["responseJsonSchema"] ?? config["responseSchema"]);
}
