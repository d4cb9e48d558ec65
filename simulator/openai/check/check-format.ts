import { type Json, objectOf, stringOf } from "../../json.ts";
import { invalid, invalidValue } from "../openai-error.ts";
import { strictFault } from "./check-tools.ts";
import { missing } from "./check-values.ts";

const FORMATS = ["json_object", "json_schema", "text"];

/** Throws OpenAI's error for an invalid response format; `schemaAt` is the object that holds name and schema. */
export function checkFormat(
  format: Json | undefined,
  { param, schemaAt }: { readonly param: string; readonly schemaAt: "json_schema" | undefined },
): void {
  if (!format) return;
  const type = stringOf(format["type"]);
  if (type === undefined) throw missing(`${param}.type`);
  if (!FORMATS.includes(type)) throw invalidValue(`${param}.type`, type, FORMATS);
  if (type !== "json_schema") return;
  const holder = schemaAt ? objectOf(format[schemaAt]) : format;
  const path = schemaAt ? `${param}.${schemaAt}` : param;
  if (!holder) throw missing(path);
  const name = stringOf(holder["name"]);
  if (name === undefined) throw missing(`${path}.name`);
  const schema = objectOf(holder["schema"]);
  if (!schema) throw missing(`${path}.schema`);
  const fault = holder["strict"] === true ? strictFault(schema) : undefined;
  if (fault) {
    const message = `Invalid schema for response_format '${name}': ${fault}`;
    throw invalid(message, param, "invalid_json_schema");
  }
}
