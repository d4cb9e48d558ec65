import type { Tool, TurnMessage } from "../content/turn.ts";
import { type Json, objectOf, objectsOf, stringOf } from "../json.ts";
import { badRequest } from "./bad-request.ts";

/** Reads the messages of `/api/chat`. Throws Ollama's 400, which names Go's structures. */
export function readMessages(value: unknown): TurnMessage[] {
  return objectsOf(value).map((message) => {
    const { role = "", content = "", images = [] } = message;
    requireType(typeof role === "string", role, "ChatRequest.messages.role of type string");
    requireType(
      typeof content === "string",
      content,
      "ChatRequest.messages.content of type string",
    );
    requireType(
      Array.isArray(images),
      images,
      "ChatRequest.messages.images of type []api.ImageData",
    );
    const pictures = images as unknown[];
    if (!pictures.every(isBase64)) throw badRequest("illegal base64 data at input byte 0");
    return {
      role: String(role),
      text: String(content),
      images: pictures.length,
      extra: readExtra(message),
    };
  });
}

function requireType(isRight: boolean, value: unknown, field: string): void {
  const kind = Array.isArray(value) ? "array" : typeof value;
  if (isRight) return;
  throw badRequest(`json: cannot unmarshal ${kind} into Go struct field ${field}`);
}

function isBase64(value: unknown): boolean {
  return typeof value === "string" && /^[A-Za-z0-9+/\r\n]*={0,2}$/.test(value);
}

function readExtra(message: Json): string {
  const calls = objectsOf(message["tool_calls"]).map((call) => {
    const { name, arguments: value } = objectOf(call["function"]) ?? {};
    const field =
      "ChatRequest.messages.tool_calls.function.arguments of type map[string]interface {}";
    requireType(objectOf(value) !== undefined, value, field);
    return `<|call|>${String(name)}${JSON.stringify(value)}`;
  });
  return `${stringOf(message["thinking"]) ?? ""}${calls.join("")}`;
}

/** Reads the function tools of `/api/chat`. */
export function readTools(value: unknown): Tool[] {
  return objectsOf(value).flatMap((item) => {
    const definition = objectOf(item["function"]);
    const name = stringOf(definition?.["name"]);
    if (!name) return [];
    const description = stringOf(definition?.["description"]) ?? "";
    return { name, description, parameters: objectOf(definition?.["parameters"]) ?? {} };
  });
}
