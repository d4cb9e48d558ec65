import { type Json, objectOf, objectsOf, stringOf, stringsOf } from "../json.ts";
import { invalid } from "./gemini-error.ts";
import { schemaFields } from "./gemini-fields.ts";
import type { GeminiTraits } from "./gemini-models.ts";
import { unknownField } from "./read-fields.ts";

const MODES = ["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"];

/** Throws Google's error for invalid functions or function choice. */
export function checkTools(body: Json, traits: GeminiTraits): void {
  const tools = Array.isArray(body["tools"])
    ? objectsOf(body["tools"])
    : objectsOf([body["tools"]]);
  const names: string[] = [];
  tools.forEach((tool, index) => {
    if (Object.keys(tool).length === 0) {
      throw invalid(
        `* GenerateContentRequest.tools[${index}].tool_type: required one_of 'tool_type' must have one initialized field\n`,
      );
    }
    objectsOf(tool["functionDeclarations"]).forEach((declaration, place) => {
      checkDeclaration(declaration, `tools[${index}].function_declarations[${place}]`);
      names.push(String(declaration["name"]));
    });
  });
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid(`Duplicate function declaration found: ${twice}`);
  checkChoice(objectOf(objectOf(body["toolConfig"])?.["functionCallingConfig"]), names);
  const format = objectOf(body["generationConfig"])?.["responseMimeType"];
  if (names.length > 0 && format === "application/json" && !traits.jsonWithTools) {
    throw invalid("Function calling with a response mime type: 'application/json' is unsupported");
  }
}

function checkDeclaration(declaration: Json, at: string): void {
  const name = stringOf(declaration["name"]) ?? "";
  if (!/^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/.test(name)) {
    throw invalid(
      `* GenerateContentRequest.${at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n`,
    );
  }
  const parameters = objectOf(declaration["parameters"]);
  if (parameters && declaration["parametersJsonSchema"] !== undefined) {
    throw invalid(
      `* GenerateContentRequest.${at}: only one of parameters and parameters_json_schema may be set.\n`,
    );
  }
  if (!parameters) return;
  checkSchema(parameters, `${at}.parameters`);
  if (String(parameters["type"]).toUpperCase() === "OBJECT" && !parameters["properties"]) {
    throw invalid(
      `* GenerateContentRequest.${at}.parameters.properties: should be non-empty for OBJECT type\n`,
    );
  }
}

/** Checks a schema of the older field, which accepts only a part of JSON Schema. */
export function checkSchema(schema: Json, at: string): void {
  for (const [name, value] of Object.entries(schema)) {
    if (!schemaFields.has(name)) throw unknownField(name, at);
    if (name === "properties") {
      for (const [key, property] of Object.entries(objectOf(value) ?? {})) {
        checkSchema(objectOf(property) ?? {}, `${at}.properties[${key}]`);
      }
    }
    if (name === "items") checkSchema(objectOf(value) ?? {}, `${at}.items`);
    if (name === "anyOf") {
      objectsOf(value).forEach((item, index) => {
        checkSchema(item, `${at}.any_of[${index}]`);
      });
    }
  }
}

function checkChoice(config: Json | undefined, names: readonly string[]): void {
  if (!config) return;
  const mode = String(config["mode"] ?? "AUTO").toUpperCase();
  if (!MODES.includes(mode)) {
    throw invalid(
      `Invalid value at 'tool_config.function_calling_config.mode' (type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), "${mode}"`,
    );
  }
  if (mode === "ANY" && names.length === 0) {
    throw invalid("Function calling config is set without function_declarations.");
  }
  const allowed = stringsOf(config["allowedFunctionNames"]);
  if (allowed.length > 0 && mode !== "ANY" && mode !== "VALIDATED") {
    throw invalid("Allowed function names should be set only when function calling mode is ANY.");
  }
  const unknown = allowed.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw invalid(
      `Function calling config is set with allowed_function_names that are not declared: ${unknown}`,
    );
  }
}
