import { type Json, objectOf, objectsOf, stringOf, stringsOf } from "../../json.ts";
import { invalid } from "../openai-error.ts";
import { emptyArray, missing } from "./check-values.ts";

/** The definition of a function tool, and its parameter path. */
export interface FunctionTool {
  readonly definition: Json;
  readonly at: string;
}

/** Throws OpenAI's error for invalid names and schemas of functions. */
export function checkFunctions(functions: readonly FunctionTool[]): void {
  for (const { definition, at } of functions) {
    const name = stringOf(definition["name"]);
    if (name === undefined) throw missing(`${at}.name`);
    checkName(name, `${at}.name`);
    const parameters = objectOf(definition["parameters"]);
    if (!parameters) continue;
    const param = `${at}.parameters`;
    const opening = `Invalid schema for function '${name}':`;
    if (parameters["type"] !== "object") {
      const type = JSON.stringify(parameters["type"] ?? "None");
      const message = `${opening} schema must be a JSON Schema of 'type: "object"', got 'type: ${type}'.`;
      throw invalid(message, param, "invalid_function_parameters");
    }
    if (definition["strict"] !== true) continue;
    const fault = strictFault(parameters);
    if (fault) throw invalid(`${opening} ${fault}`, param, "invalid_function_parameters");
  }
}

/** Throws the error for a choice without tools, or for a tool that does not exist. */
export function checkChoice(body: Json, name: string | undefined, names: readonly string[]): void {
  if (Array.isArray(body["tools"]) && body["tools"].length === 0) throw emptyArray("tools");
  for (const param of ["tool_choice", "parallel_tool_calls"]) {
    const value = body[param];
    if (value === undefined || value === null || body["tools"] != null) continue;
    if (param === "tool_choice" && (value === "none" || value === "auto")) continue;
    const message = `Invalid value for '${param}': '${param}' is only allowed when 'tools' are specified.`;
    throw invalid(message, param);
  }
  if (name !== undefined && !names.includes(name)) {
    const message = `Tool choice '${name}' not found in 'tools' parameter.`;
    throw invalid(message, "tool_choice");
  }
}

function checkName(name: string, param: string): void {
  if (!/^[a-zA-Z0-9_-]+$/.test(name)) {
    const message = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
    throw invalid(message, param, "invalid_value");
  }
  if (name.length > 64) {
    const message = `Invalid '${param}': string too long. Expected a string with maximum length 64, but got a string with length ${name.length} instead.`;
    throw invalid(message, param, "string_above_max_length");
  }
}

/** Returns the violation of strict mode in a schema; undefined when there is none. */
export function strictFault(schema: Json, path: readonly string[] = []): string | undefined {
  const context = `In context=(${path.map((step) => `'${step}'`).join(", ")})`;
  const properties = objectOf(schema["properties"]);
  if (schema["type"] === "object" || properties) {
    if (schema["additionalProperties"] !== false) {
      return `${context}, 'additionalProperties' is required to be supplied and to be false.`;
    }
    const required = new Set(stringsOf(schema["required"]));
    const left = Object.keys(properties ?? {}).find((name) => !required.has(name));
    if (left !== undefined) {
      return `${context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`;
    }
  }
  for (const [name, child] of Object.entries(properties ?? {})) {
    const fault = strictFault(objectOf(child) ?? {}, [...path, "properties", name]);
    if (fault) return fault;
  }
  const items = objectOf(schema["items"]);
  const nested = items ? [items] : objectsOf(schema["anyOf"]);
  return nested.map((item) => strictFault(item, [...path, "items"])).find(Boolean);
}
