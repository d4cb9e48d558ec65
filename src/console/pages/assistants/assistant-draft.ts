import type { Assistant, AssistantFields } from "../../api/queries/assistants.ts";

/** An assistant's fields as a form holds them: texts where the API has null for "not set". */
export interface AssistantDraft {
  readonly name: string;
  readonly description: string;
  /** The empty text is the server's default. */
  readonly model: string;
  readonly instructions: string;
  readonly effort: string;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly format: "auto" | "text" | "json_object" | "json_schema";
  /** JSON, of `json_schema`. */
  readonly schema: string;
  /** One pair a line: `name: value`. What would be read otherwise is written as JSON has it: `"a:b": "two\nlines"`. */
  readonly metadata: string;
  readonly stores: readonly string[];
  readonly grounding: "" | "off" | "prefer" | "strict";
  readonly topK: number | null;
  readonly minSimilarity: number | null;
  readonly noAnswerText: string;
  readonly tools: readonly string[];
  readonly level: Assistant["ext"]["max_level"];
  readonly sqlConnections: readonly string[];
  readonly fileConnections: readonly string[];
  readonly visibility: Assistant["ext"]["visibility"];
}

const PAIR = /^(\s*"(?:[^"\\]|\\.)*"\s*|[^:]*):(.*)$/s;

/** What the parts of the form are given. */
export interface PartProps {
  readonly draft: AssistantDraft;
  readonly set: (change: Partial<AssistantDraft>) => void;
}

export const NEW_ASSISTANT: AssistantDraft = {
  ...{ name: "", description: "", model: "", instructions: "", effort: "" },
  ...{ temperature: null, topP: null, format: "auto", schema: "", metadata: "" },
  ...{ stores: [], grounding: "", topK: null, minSimilarity: null, noAnswerText: "" },
  ...{ tools: [], level: "read_only", sqlConnections: [], fileConnections: [] },
  visibility: "private",
};

export function toDraft(assistant: Assistant): AssistantDraft {
  const { ext, response_format: format, tool_resources: resources } = assistant;
  const schema = format === "auto" ? undefined : format.json_schema;
  return {
    name: assistant.name ?? "",
    description: assistant.description ?? "",
    model: assistant.model ?? "",
    instructions: assistant.instructions ?? "",
    effort: assistant.reasoning_effort ?? "",
    temperature: assistant.temperature,
    topP: assistant.top_p,
    format: format === "auto" ? "auto" : format.type,
    schema: schema === undefined ? "" : JSON.stringify(schema, null, 2),
    metadata: Object.entries(assistant.metadata)
      .map(([name, value]) => `${written(name, /[:\r\n]/)}: ${written(value, /[\r\n]/)}`)
      .join("\n"),
    stores: resources.file_search?.vector_store_ids ?? [],
    grounding: ext.grounding ?? "",
    topK: ext.top_k,
    minSimilarity: ext.min_similarity,
    noAnswerText: ext.no_answer_text ?? "",
    tools: ext.tools,
    level: ext.max_level,
    sqlConnections: ext.sql_connections,
    fileConnections: ext.file_connections,
    visibility: ext.visibility,
  };
}

/** What keeps a draft from being sent; undefined for one that the server may judge. */
export function draftFault(draft: AssistantDraft): string | undefined {
  if (draft.format === "json_schema" && parseObject(draft.schema) === undefined) {
    return "The schema of the answer is no JSON object.";
  }
  const line = lines(draft.metadata).find((text) => !PAIR.test(text));
  return line === undefined ? undefined : `The metadata has a line without a colon: ${line}`;
}

/** Returns the fields in which a draft differs from another, as the API names them. */
export function changesOf(draft: AssistantDraft, before: AssistantDraft): AssistantFields {
  const [{ ext, ...now }, { ext: extBefore, ...then }] = [toFields(draft), toFields(before)];
  const changedExt = differing(ext, extBefore);
  return {
    ...differing(now, then),
    ...(Object.keys(changedExt).length > 0 && { ext: changedExt }),
  };
}

export function isSame(left: AssistantDraft, right: AssistantDraft): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function differing<Fields extends object>(now: Fields, before: Fields): Partial<Fields> {
  const changed = Object.entries(now).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Fields]),
  );
  return Object.fromEntries(changed) as Partial<Fields>;
}

function toFields(draft: AssistantDraft) {
  return {
    name: draft.name || null,
    description: draft.description || null,
    model: draft.model || null,
    instructions: draft.instructions || null,
    reasoning_effort: (draft.effort || null) as Assistant["reasoning_effort"],
    temperature: draft.temperature,
    top_p: draft.topP,
    response_format: toFormat(draft),
    metadata: Object.fromEntries(
      lines(draft.metadata).map((line) => {
        const [, name = "", value = ""] = PAIR.exec(line) ?? [];
        return [meant(name), meant(value)];
      }),
    ),
    tool_resources: { file_search: { vector_store_ids: [...draft.stores] } },
    ext: {
      visibility: draft.visibility,
      tools: [...draft.tools],
      max_level: draft.level,
      sql_connections: [...draft.sqlConnections],
      file_connections: [...draft.fileConnections],
      grounding: draft.grounding || null,
      top_k: draft.topK,
      min_similarity: draft.minSimilarity,
      no_answer_text: draft.noAnswerText || null,
    },
  };
}

function toFormat({ format, schema }: AssistantDraft): Assistant["response_format"] {
  if (format === "auto") return "auto";
  return format === "json_schema"
    ? { type: format, json_schema: parseObject(schema) ?? {} }
    : { type: format };
}

function lines(text: string): readonly string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

function written(text: string, odd: RegExp): string {
  const isPlain = !odd.test(text) && text === text.trim() && meant(text) === text;
  return isPlain ? text : JSON.stringify(text);
}

/** The text that a name or value of the metadata stands for. */
function meant(text: string): string {
  const plain = text.trim();
  try {
    const value: unknown = JSON.parse(plain);
    return typeof value === "string" ? value : plain;
  } catch {
    return plain;
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
