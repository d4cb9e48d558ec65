import * as z from "zod";
import { MAX_FALLBACKS } from "../../core/chat/chat-request.ts";
import { EFFORTS, type Effort, parseEffort } from "../../core/chat/effort.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { invalidValue } from "./check-request.ts";
import { documentedWords } from "./documented-words.ts";

/** A word that some clients send for an unset effort. */
const UNSET = "default";

/** The effort words, as the documentation lists them. */
export const EFFORT_WORDS =
  "`none`, `low`, `medium`, `high` or `max`; `minimal` is read as `low`, `xhigh` as `max`, `default` as unset";

/** The effort words of all clients. */
export const EFFORT_NAMES: readonly string[] = [...EFFORTS, "minimal", "xhigh", UNSET];

const extension = z.looseObject({
  thinking: z
    .union([z.boolean(), documentedWords(EFFORT_NAMES)])
    .nullish()
    .describe(
      `\`true\` is \`high\`, \`false\` is \`none\`, or ${EFFORT_WORDS}. Wins over the request's own effort.`,
    ),
  tools_scope: z
    .array(z.string())
    .nullish()
    .describe("Tools of the assistant that may be used. Refused on a plain model."),
});

/** A request's `metadata`: the client's own members together with the gateway's settings. */
export const metadataSchema = z
  .looseObject({
    ext: extension.nullish(),
    // A string is the client's own metadata, not a setting of the gateway.
    service: z.union([extension, z.string()]).nullish(),
  })
  .describe("`ext` holds the gateway's own settings; `service` is its earlier name.");

/** A request's `ext`: settings that have no field in the client's format. */
export const extSchema = z
  .looseObject({
    fallbacks: z
      .array(z.string())
      .max(MAX_FALLBACKS)
      .nullish()
      .describe("Models to try in this order when the one asked for cannot answer."),
  })
  .describe("The gateway's own settings.");

type Metadata = z.infer<typeof metadataSchema> | null | undefined;
type Extension = z.infer<typeof extension>;

interface Setting<Value> {
  readonly value: Value;
  readonly path: readonly string[];
}

/** Returns a setting of `metadata.ext`, or else of its earlier name `metadata.service`. */
function readSetting<Name extends "thinking" | "tools_scope">(
  metadata: Metadata,
  name: Name,
): Setting<NonNullable<Extension[Name]>> | undefined {
  for (const space of ["ext", "service"] as const) {
    const settings = metadata?.[space];
    const value = typeof settings === "string" ? undefined : settings?.[name];
    if (value != null) return { value, path: ["metadata", space, name] };
  }
  return undefined;
}

/** Returns the assistant's tools that the client requests. */
export function readToolsScope(metadata: Metadata): readonly string[] | undefined {
  return readSetting(metadata, "tools_scope")?.value;
}

/**
 * Returns the requested effort: `thinking` of the metadata wins over the request's own field. Throws on an unknown
 * word.
 */
export function readEffort(
  metadata: Metadata,
  own: string | null | undefined,
  ownPath: readonly string[],
): Effort | undefined {
  const isUnset = own == null || own === UNSET;
  const asked = isUnset ? undefined : toEffort({ value: own, path: ownPath });
  const thinking = readSetting(metadata, "thinking");
  return thinking === undefined || thinking.value === UNSET ? asked : toEffort(thinking);
}

/** Returns the names of the field that set the effort in force: the metadata's, or else the client's own. */
export function namesOfEffort(metadata: Metadata, own: readonly string[]): readonly string[] {
  const thinking = readSetting(metadata, "thinking");
  return thinking === undefined ? own : [thinking.path.join(".")];
}

function toEffort({ value, path }: Setting<string | boolean>): Effort {
  if (typeof value === "boolean") return value ? "high" : "none";
  const effort = parseEffort(value);
  if (effort !== undefined) return effort;
  throw invalidValue(path, `one of ${EFFORTS.map((word) => `"${word}"`).join(", ")}`, value);
}

/** Returns the client's own metadata, without the gateway's settings; undefined when nothing is left. */
export function readOwnMetadata(metadata: unknown): JsonObject | undefined {
  if (!isJsonObject(metadata)) return undefined;
  const rest = Object.entries(metadata).filter(
    ([name, value]) => name !== "ext" && !(name === "service" && isJsonObject(value)),
  );
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}
