import { type Json, objectOf, objectsOf, stringOf } from "../json.ts";
import { invalid } from "./anthropic-error.ts";
import type { AnthropicTraits } from "./anthropic-models.ts";

const CHOICES = ["any", "auto", "none", "tool"];
const TOOL_FIELDS = [
  "type",
  "name",
  "description",
  "input_schema",
  "cache_control",
  "defer_loading",
  "eager_input_streaming",
  "strict",
  "input_examples",
  "allowed_callers",
];

/** Throws Anthropic's error for invalid tools, tool choice or answer format. */
export function checkTools(body: Json, traits: AnthropicTraits): void {
  const tools = objectsOf(body["tools"]);
  tools.forEach(checkTool);
  const names = tools.map((tool) => String(tool["name"]));
  if (new Set(names).size < names.length) throw invalid("tools: Tool names must be unique.");
  checkChoice(objectOf(body["tool_choice"]), names);
  checkFormat(body, traits);
}

function checkTool(tool: Json, index: number): void {
  const { name, type = "custom" } = tool;
  if (type !== "custom") return;
  const at = `tools.${index}.custom`;
  const unknown = Object.keys(tool).find((field) => !TOOL_FIELDS.includes(field));
  if (unknown !== undefined) throw invalid(`${at}.${unknown}: Extra inputs are not permitted`);
  if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
    throw invalid(`${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
  }
  const schema = objectOf(tool["input_schema"]);
  if (!schema) throw invalid(`${at}.input_schema: Field required`);
  if (schema["type"] === undefined) throw invalid(`${at}.input_schema.type: Field required`);
  if (schema["type"] !== "object") {
    throw invalid(`${at}.input_schema.type: Input should be 'object'`);
  }
}

function checkChoice(choice: Json | undefined, names: readonly string[]): void {
  if (!choice) return;
  const type = String(choice["type"]);
  if (!CHOICES.includes(type)) {
    const tags = CHOICES.map((name) => `'${name}'`).join(", ");
    throw invalid(
      `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags}`,
    );
  }
  if (names.length === 0) {
    throw invalid("tool_choice: tool_choice may only be specified while providing tools");
  }
  const name = stringOf(choice["name"]);
  if (type === "tool" && (name === undefined || !names.includes(name))) {
    throw invalid(`tool_choice.tool: Tool '${String(name)}' not found in provided tools`);
  }
}

function checkFormat(body: Json, { jsonSchema }: AnthropicTraits): void {
  const format = objectOf(objectOf(body["output_config"])?.["format"]);
  if (!format) return;
  if (!jsonSchema)
    throw invalid("output_config.format: this model does not support output formats");
  if (format["type"] !== "json_schema") {
    throw invalid("output_config.format.type: Input should be 'json_schema'");
  }
  const schema = objectOf(format["schema"]);
  if (!schema) throw invalid("output_config.format.schema: Field required");
  if (schema["type"] === "object" && schema["additionalProperties"] !== false) {
    throw invalid(
      "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    );
  }
}
