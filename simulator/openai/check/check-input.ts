import { type Json, objectsOf, stringOf } from "../../json.ts";
import { openSeal } from "../../seals.ts";
import { invalid, invalidValue, openAiError } from "../openai-error.ts";
import { missing, wrongType } from "./check-values.ts";

const ROLES = ["assistant", "system", "developer", "user"];
const ITEM_TYPES = [
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "reasoning",
  "item_reference",
  "web_search_call",
  "file_search_call",
  "computer_call",
  "computer_call_output",
  "code_interpreter_call",
  "image_generation_call",
  "local_shell_call",
  "local_shell_call_output",
  "shell_call",
  "shell_call_output",
  "apply_patch_call",
  "apply_patch_call_output",
  "mcp_call",
  "mcp_list_tools",
  "mcp_approval_request",
  "mcp_approval_response",
  "tool_search_call",
  "tool_search_output",
  "compaction",
];
const IN_PARTS = ["input_text", "input_image", "input_file"];
const OUT_PARTS = ["output_text", "refusal"];
/** The prefixes of item ids. */
const idPrefixes: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  custom_tool_call: "ctc",
  reasoning: "rs",
};
const CALL_ID_LENGTH = 64;

/** Throws OpenAI's error for an invalid list of input items. */
export function checkInput(input: unknown, isStored: boolean): void {
  if (input === undefined || input === null) throw missing("input");
  if (typeof input === "string") return;
  if (!Array.isArray(input)) throw wrongType("input", "a string or an array of objects", input);
  const items = objectsOf(input);
  items.forEach((item, index) => {
    const type = stringOf(item["type"]) ?? "message";
    const at = `input[${index}]`;
    if (!ITEM_TYPES.includes(type)) throw invalidValue(at, type, ITEM_TYPES);
    checkId(item, type, at);
    if (type === "message") checkMessage(item, at);
    if (type === "reasoning") checkReasoning(item, at);
    if (type === "function_call") checkCall(item, at);
  });
  checkCallsAndOutputs(items);
  if (!isStored) checkReferences(items);
}

function checkId(item: Json, type: string, at: string): void {
  const id = stringOf(item["id"]);
  const prefix = idPrefixes[type];
  if (id === undefined || prefix === undefined || id.startsWith(prefix)) return;
  const message = `Invalid '${at}.id': '${id}'. Expected an ID that begins with '${prefix}'.`;
  throw invalid(message, `${at}.id`, "invalid_value");
}

function checkMessage(item: Json, at: string): void {
  const role = stringOf(item["role"]);
  if (role === undefined) throw missing(`${at}.role`);
  if (!ROLES.includes(role)) throw invalidValue(`${at}.role`, role, ROLES);
  const { content } = item;
  if (typeof content === "string") return;
  if (!Array.isArray(content)) {
    throw wrongType(`${at}.content`, "one of an array of objects or string", content);
  }
  const known = role === "assistant" ? OUT_PARTS : IN_PARTS;
  objectsOf(content).forEach((part, index) => {
    const path = `${at}.content[${index}]`;
    const type = String(part["type"]);
    if (!known.includes(type)) throw invalidValue(path, type, known);
    if (type === "input_image") checkImage(part, path);
    const isText = type === "input_text" || type === "output_text";
    if (isText && typeof part["text"] !== "string") throw missing(`${path}.text`);
  });
}

function checkImage(part: Json, path: string): void {
  const url = part["image_url"];
  if (url === undefined && stringOf(part["file_id"])) return;
  if (typeof url !== "string") {
    throw wrongType(`${path}.image_url`, "a string", url);
  }
  if (/^(https?:\/\/|data:image\/[a-z+.-]+;base64,[A-Za-z0-9+/=]+$)/i.test(url)) return;
  const message = `Invalid '${path}.image_url'. Expected a valid URL, but got a value with an invalid format.`;
  throw invalid(message, `${path}.image_url`, "invalid_value");
}

function checkReasoning(item: Json, at: string): void {
  if (!Array.isArray(item["summary"])) throw missing(`${at}.summary`);
  const sealed = stringOf(item["encrypted_content"]);
  if (sealed === undefined || openSeal("encrypted", sealed) !== "foreign") return;
  const shown = `${sealed.slice(0, 4)}...${sealed.slice(-4)}`;
  const message = `The encrypted content ${shown} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`;
  throw invalid(message, null, "invalid_encrypted_content");
}

function checkCall(item: Json, at: string): void {
  const id = stringOf(item["call_id"]);
  if (id === undefined) throw missing(`${at}.call_id`);
  if (id === "") {
    const message = `Invalid '${at}.call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.`;
    throw invalid(message, `${at}.call_id`, "empty_string");
  }
  if (id.length > CALL_ID_LENGTH) {
    const message = `Invalid '${at}.call_id': string too long. Expected a string with maximum length ${CALL_ID_LENGTH}, but got a string with length ${id.length} instead.`;
    throw invalid(message, `${at}.call_id`, "string_above_max_length");
  }
  if (stringOf(item["name"]) === undefined) throw missing(`${at}.name`);
  const text = item["arguments"];
  if (typeof text !== "string") throw wrongType(`${at}.arguments`, "a string", text);
}

function checkCallsAndOutputs(items: readonly Json[]): void {
  for (const [call, output, word] of [
    ["function_call", "function_call_output", "function call"],
    ["custom_tool_call", "custom_tool_call_output", "custom tool call"],
  ] as const) {
    const calls = idsOf(items, call);
    const outputs = idsOf(items, output);
    const orphan = outputs.find((id) => !calls.includes(id));
    if (orphan !== undefined) {
      throw invalid(`No tool call found for ${word} output with call_id ${orphan}.`, "input");
    }
    const open = calls.find((id) => !outputs.includes(id));
    if (open !== undefined) throw invalid(`No tool output found for ${word} ${open}.`, "input");
  }
}

function idsOf(items: readonly Json[], type: string): string[] {
  return items.filter((item) => item["type"] === type).map((item) => String(item["call_id"]));
}

/**
 * Checks references. Without storage an item cannot be fetched by its id, so reasoning must include its own content.
 */
function checkReferences(items: readonly Json[]): void {
  for (const item of items) {
    const isReference = item["type"] === "item_reference";
    const isBare = item["type"] === "reasoning" && item["encrypted_content"] == null;
    const id = stringOf(item["id"]);
    if (id === undefined || !(isReference || isBare)) continue;
    const message = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
    throw openAiError(404, message, { param: "input" });
  }
}
