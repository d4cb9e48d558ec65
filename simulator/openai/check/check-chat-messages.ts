import { type Json, objectOf, objectsOf, stringOf } from "../../json.ts";
import { invalid, invalidValue } from "../openai-error.ts";
import { emptyArray, missing, wrongType } from "./check-values.ts";

const ROLES = ["system", "assistant", "user", "function", "tool", "developer"];
const PARTS = ["text", "image_url", "input_audio", "refusal", "audio", "file"];
const CALL_ID_LENGTH = 40;

/** Throws OpenAI's error for an invalid conversation. */
export function checkChatMessages(value: unknown): void {
  if (value === undefined || value === null) throw missing("messages");
  if (!Array.isArray(value)) throw wrongType("messages", "an array of objects", value);
  if (value.length === 0) throw emptyArray("messages");
  const messages = objectsOf(value);
  messages.forEach(checkMessage);
  checkCallsAndResults(messages);
}

function checkMessage(message: Json, index: number): void {
  const at = `messages[${index}]`;
  const role = stringOf(message["role"]);
  if (role === undefined) throw missing(`${at}.role`);
  if (!ROLES.includes(role)) throw invalidValue(`${at}.role`, role, ROLES);
  const calls = message["tool_calls"];
  if (Array.isArray(calls) && calls.length === 0) throw emptyArray(`${at}.tool_calls`);
  checkContent(message, { at, role, mayLack: role === "assistant" && calls != null });
  objectsOf(calls).forEach((call, position) => {
    checkCall(call, `${at}.tool_calls[${position}]`);
  });
  if (role === "tool" && stringOf(message["tool_call_id"]) === undefined) {
    throw missing(`${at}.tool_call_id`);
  }
}

function checkContent(
  { content }: Json,
  { at, role, mayLack }: { readonly at: string; readonly role: string; readonly mayLack: boolean },
): void {
  if (typeof content === "string" || (mayLack && (content === null || content === undefined))) {
    return;
  }
  if (!Array.isArray(content)) {
    const got = content === null || content === undefined ? "null" : typeof content;
    const message = `Invalid value for 'content': expected a string, got ${got}.`;
    throw invalid(message, `${at.replace("[", ".[")}.content`);
  }
  if (content.length === 0) throw emptyArray(`${at}.content`);
  objectsOf(content).forEach((part, index) => {
    const type = stringOf(part["type"]);
    const path = `${at}.content[${index}]`;
    if (type === undefined || !PARTS.includes(type)) throw invalidValue(path, type, PARTS);
    if (type === "image_url") checkImage(part, path, role);
    if (type === "text" && typeof part["text"] !== "string") throw missing(`${path}.text`);
  });
}

function checkImage(part: Json, path: string, role: string): void {
  const url = stringOf(objectOf(part["image_url"])?.["url"]);
  if (url === undefined) throw missing(`${path}.image_url.url`);
  if (role !== "user") {
    const message = `Invalid '${path}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`;
    throw invalid(message, path, "invalid_value");
  }
  if (!/^(https?:\/\/|data:image\/[a-z+.-]+;base64,[A-Za-z0-9+/=]+$)/i.test(url)) {
    const message = `Invalid '${path}.image_url.url'. Expected a valid URL, but got a value with an invalid format.`;
    throw invalid(message, `${path}.image_url.url`, "invalid_value");
  }
}

function checkCall(call: Json, path: string): void {
  const id = stringOf(call["id"]);
  if (id === undefined) throw missing(`${path}.id`);
  if (id.length > CALL_ID_LENGTH) {
    const message = `Invalid '${path}.id': string too long. Expected a string with maximum length ${CALL_ID_LENGTH}, but got a string with length ${id.length} instead.`;
    throw invalid(message, `${path}.id`, "string_above_max_length");
  }
  if (call["type"] !== "function") {
    throw invalidValue(`${path}.type`, call["type"], ["function", "custom"]);
  }
  const definition = objectOf(call["function"]);
  if (stringOf(definition?.["name"]) === undefined) throw missing(`${path}.function.name`);
  const text = definition?.["arguments"];
  if (typeof text !== "string") throw wrongType(`${path}.function.arguments`, "a string", text);
}

function checkCallsAndResults(messages: readonly Json[]): void {
  let open: string[] = [];
  messages.forEach((message, index) => {
    if (message["role"] === "tool") {
      const id = String(message["tool_call_id"]);
      if (!open.includes(id)) {
        const text =
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
        throw invalid(text, `messages.[${index}].role`);
      }
      open = open.filter((other) => other !== id);
      return;
    }
    if (open.length > 0) throw unanswered(open);
    open = objectsOf(message["tool_calls"]).map((call) => String(call["id"]));
  });
  if (open.length > 0) throw unanswered(open);
}

function unanswered(ids: readonly string[]): Error {
  const message = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(", ")}`;
  return invalid(message, "messages");
}
