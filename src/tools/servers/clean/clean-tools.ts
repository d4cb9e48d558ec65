import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import type { ListedTool } from "../client/tool-server-client.ts";
import type { CleanBudget } from "./clean-budget.ts";
import { cleanInputSchema, isInputSchema, isReplaced } from "./clean-schema.ts";
import { cleanText, cutText } from "./clean-text.ts";

const MAX_NAME_LENGTH = 128;
const MAX_DESCRIPTION_LENGTH = 4_096;

/**
 * Returns why this cannot be offered as a tool; undefined when it can. Names are not changed, because the server knows
 * the tool by this name only: one that is empty, too long or holds control characters cannot.
 */
export function faultOf(listed: JsonValue): string | undefined {
  if (!isJsonObject(listed)) return "It is not an object.";
  const { name } = listed;
  if (typeof name !== "string" || !isGoodName(name)) {
    return `Its name is missing, longer than ${MAX_NAME_LENGTH} characters, or has control characters.`;
  }
  return isInputSchema(listed["inputSchema"])
    ? undefined
    : "Its inputSchema is missing, or describes no object.";
}

/** Returns the name by which an administrator recognises a listed tool; null without one. */
export function shownName(listed: JsonValue): string | null {
  const name = isJsonObject(listed) ? listed["name"] : undefined;
  if (typeof name !== "string") return null;
  return cutText(cleanText(name.slice(0, MAX_NAME_LENGTH * 4)).trim(), MAX_NAME_LENGTH) || null;
}

/**
 * Returns a listed tool, cleaned and bounded; undefined for what cannot be offered. A schema that is too large for what
 * is left of `budget`, that of the whole list, accepts any object. Schemas of results have a budget of their own.
 */
export function cleanTool(
  listed: JsonObject,
  budget: CleanBudget,
  outputBudget = budget,
): ListedTool | undefined {
  const { name, description } = listed;
  const inputSchema = cleanInputSchema(listed["inputSchema"], budget);
  if (typeof name !== "string" || inputSchema === undefined) return undefined;
  // Cleaning removes much more than this only from texts that are not worth reading.
  const start =
    typeof description === "string" ? description.slice(0, MAX_DESCRIPTION_LENGTH * 4) : "";
  return {
    name,
    description: cutText(cleanText(start).trim(), MAX_DESCRIPTION_LENGTH),
    inputSchema,
    outputSchema: cleanOutputSchema(listed["outputSchema"], outputBudget),
    annotations: readAnnotations(listed["annotations"]),
  };
}

/** A schema that is too large says nothing; none is better. */
function cleanOutputSchema(
  listed: JsonValue | undefined,
  budget: CleanBudget,
): JsonObject | undefined {
  if (!isJsonObject(listed)) return undefined;
  const cleaned = cleanInputSchema(listed, budget);
  return cleaned === undefined || isReplaced(listed, cleaned) ? undefined : cleaned;
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
