import { isJsonObject, type JsonValue } from "../../../lib/json.ts";
import type { ListedTool } from "../tool-server-client.ts";
import { cleanInputSchema } from "./clean-schema.ts";
import { cleanText, cutText } from "./clean-text.ts";

const MAX_NAME_LENGTH = 128;
const MAX_DESCRIPTION_LENGTH = 4_096;

/**
 * Returns a listed tool, cleaned and bounded; undefined for what cannot be offered. Names are not changed, because the
 * server knows the tool by this name only: one that is empty, too long or holds control characters is left out.
 */
export function cleanTool(listed: JsonValue): ListedTool | undefined {
  if (!isJsonObject(listed)) return undefined;
  const { name, description, inputSchema: schema } = listed;
  if (typeof name !== "string" || !isGoodName(name)) return undefined;
  const inputSchema = cleanInputSchema(schema);
  if (inputSchema === undefined) return undefined;
  const text = typeof description === "string" ? cleanText(description).trim() : "";
  return {
    name,
    description: cutText(text, MAX_DESCRIPTION_LENGTH),
    inputSchema,
    annotations: readAnnotations(listed["annotations"]),
  };
}

function isGoodName(name: string): boolean {
  if (name.length > MAX_NAME_LENGTH || name.trim() === "") return false;
  return cleanText(name) === name && !/[\n\t]/.test(name);
}

function readAnnotations(annotations: JsonValue | undefined): ListedTool["annotations"] {
  if (!isJsonObject(annotations)) return {};
  const { readOnlyHint, destructiveHint } = annotations;
  return {
    ...(typeof readOnlyHint === "boolean" && { readOnlyHint }),
    ...(typeof destructiveHint === "boolean" && { destructiveHint }),
  };
}
