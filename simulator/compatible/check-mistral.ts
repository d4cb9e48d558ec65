import { type Json, objectOf, objectsOf, stringOf } from "../json.ts";
import { invalidField, mistralError } from "./mistral-error.ts";

const fields = new Set(
  `model temperature top_p max_tokens stream stop random_seed metadata messages response_format tools tool_choice
   presence_penalty frequency_penalty n prediction parallel_tool_calls prompt_mode reasoning_effort guardrails
   prompt_cache_key safe_prompt`.split(/\s+/),
);
const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "prefix"],
  tool: ["role", "content", "tool_call_id", "name"],
};
const PARTS = ["text", "image_url", "document_url", "reference", "file", "thinking", "input_audio"];
const CHOICES = ["auto", "none", "any", "required"];

/** Throws Mistral's error for an invalid body. */
export function checkMistral(body: Json): void {
  for (const [name, input] of Object.entries(body)) {
    if (!fields.has(name)) throw extra([name], input);
  }
  checkValues(body);
  const messages = objectsOf(body["messages"]);
  if (messages.length === 0) {
    throw mistralError(400, {
      message: "Conversation must have at least one message",
      type: "invalid_request_message_order",
      code: "3230",
    });
  }
  messages.forEach(checkMessage);
  checkOrder(messages);
  checkTools(body);
}

function extra(loc: readonly (string | number)[], input: unknown): Error {
  return invalidField(loc, {
    type: "extra_forbidden",
    msg: "Extra inputs are not permitted",
    input,
  });
}

function checkValues(body: Json): void {
  checkRange(body, "temperature", 1.5);
  checkRange(body, "top_p", 1);
  const { max_tokens: maxTokens, n } = body;
  if (maxTokens != null && !(Number.isInteger(maxTokens) && Number(maxTokens) >= 0)) {
    const msg = "Input should be a valid integer";
    throw invalidField(["max_tokens"], { type: "int_parsing", msg, input: maxTokens });
  }
  if (n != null && n !== 1) {
    const msg = "Input should be less than or equal to 1";
    throw invalidField(["n"], { type: "less_than_equal", msg, input: n });
  }
}

function checkRange(body: Json, name: string, to: number): void {
  const input = body[name];
  if (input === undefined || input === null) return;
  if (typeof input === "number" && input >= 0 && input <= to) return;
  const msg = `Input should be less than or equal to ${to}`;
  throw invalidField([name], { type: "less_than_equal", msg, input });
}

function checkMessage(message: Json, index: number): void {
  const role = String(message["role"]);
  const known = messageFields[role];
  const at = ["messages", index] as const;
  if (!known) {
    const msg =
      "Input tag found using 'role' does not match any of the expected tags: 'assistant', 'system', 'tool', 'user'";
    throw invalidField(at, { type: "union_tag_invalid", msg, input: message });
  }
  for (const [name, input] of Object.entries(message)) {
    if (!known.includes(name)) throw extra([...at, role, name], input);
  }
  const { content } = message;
  objectsOf(content).forEach((part, place) => {
    if (PARTS.includes(String(part["type"]))) return;
    const msg = "Input tag found using 'type' does not match any of the expected tags";
    throw invalidField([...at, role, "content", place], {
      type: "union_tag_invalid",
      msg,
      input: part,
    });
  });
  const calls = objectsOf(message["tool_calls"]);
  if (role === "assistant" && (content == null || content === "") && calls.length === 0) {
    throw mistralError(400, {
      message: "Assistant message must have either content or tool_calls, but not none.",
      type: "invalid_request_assistant_message",
      code: "3240",
    });
  }
  for (const call of calls) checkCallId(call["id"]);
  if (role === "tool") checkCallId(message["tool_call_id"]);
}

function checkCallId(id: unknown): void {
  if (typeof id === "string" && /^[a-zA-Z0-9]{9}$/.test(id)) return;
  throw mistralError(400, {
    message: `Tool call id was ${String(id)} but must be a-z, A-Z, 0-9, with a length of 9.`,
    type: "invalid_function_call",
    code: "3280",
  });
}

function checkOrder(messages: readonly Json[]): void {
  const refuse = (message: string) =>
    mistralError(400, { message, type: "invalid_request_message_order", code: "3230" });
  let open: string[] = [];
  messages.forEach((message, index) => {
    const role = String(message["role"]);
    const before = messages[index - 1]?.["role"];
    if (role === "tool") {
      const id = String(message["tool_call_id"]);
      if (before !== "assistant" && before !== "tool") {
        throw refuse(`Unexpected role 'tool' after role '${String(before)}'`);
      }
      if (!open.includes(id)) throw refuse("Unexpected tool call id in tool results");
      open = open.filter((other) => other !== id);
      return;
    }
    if (before === "tool" && role !== "assistant") {
      throw refuse(`Unexpected role '${role}' after role 'tool'`);
    }
    if (open.length > 0) throw refuse("Not the same number of function calls and responses");
    open = objectsOf(message["tool_calls"]).map(({ id }) => String(id));
  });
  if (open.length > 0) throw refuse("Not the same number of function calls and responses");
  const last = messages.at(-1);
  if (last?.["role"] === "assistant" && last["prefix"] !== true) {
    throw refuse(
      "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    );
  }
}

function checkTools(body: Json): void {
  const names = objectsOf(body["tools"]).map((tool, index) => {
    const definition = objectOf(tool["function"]);
    const name = stringOf(definition?.["name"]);
    const loc = ["tools", index, "function"] as const;
    if (name === undefined) {
      throw invalidField([...loc, "name"], { type: "missing", msg: "Field required" });
    }
    if (!/^[a-zA-Z0-9_-]{1,256}$/.test(name)) {
      const msg = "Function name must be a-z, A-Z, 0-9, or contain underscores and dashes";
      throw invalidField([...loc, "name"], { type: "value_error", msg, input: name });
    }
    if (!objectOf(definition?.["parameters"])) {
      throw invalidField([...loc, "parameters"], { type: "missing", msg: "Field required" });
    }
    return name;
  });
  const choice = body["tool_choice"];
  if (choice === undefined || choice === null) return;
  const isKnown = typeof choice === "string" && CHOICES.includes(choice);
  const name = stringOf(objectOf(objectOf(choice)?.["function"])?.["name"]);
  if (isKnown || (name !== undefined && names.includes(name))) return;
  const msg = "Input should be 'auto', 'none', 'any' or 'required'";
  throw invalidField(["tool_choice"], { type: "enum", msg, input: choice });
}
