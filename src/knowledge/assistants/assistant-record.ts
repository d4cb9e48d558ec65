import { and, eq } from "drizzle-orm";
import type { Caller } from "../../core/callers/caller.ts";
import { parseEffort } from "../../core/chat/effort.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { assistants } from "../../db/tables/assistants.ts";
import { visibleTo } from "../rights.ts";
import type { Assistant } from "./assistant.ts";

/** The fields that a client sets. */
export type AssistantFields = Omit<Assistant, "id" | "ownerId" | "slug" | "createdAt">;
/** The fields to change; undefined ones stay as they are. */
export type AssistantPatch = {
  readonly [Name in keyof AssistantFields]?: AssistantFields[Name] | undefined;
};

/** A new assistant unless it is given more. */
export const NEW_ASSISTANT: AssistantFields = {
  visibility: "private",
  name: null,
  model: null,
  description: null,
  instructions: null,
  tools: [],
  vectorStoreIds: [],
  metadata: {},
  temperature: null,
  topP: null,
  reasoningEffort: null,
  responseFormat: null,
  maxLevel: "read_only",
  sqlConnections: [],
  fileConnections: [],
  grounding: null,
  topK: null,
  minSimilarity: null,
  noAnswerText: null,
};

export function toAssistant(row: typeof assistants.$inferSelect): Assistant {
  const { nameKey: _key, changeSeq: _seq, ...assistant } = row;
  return { ...assistant, reasoningEffort: parseEffort(row.reasoningEffort) ?? null };
}

/** Returns the assistant of this id, if it exists for the caller. Rejects with `not_found`. */
export async function readAssistant(db: Db, caller: Caller, id: string): Promise<Assistant> {
  const [row] = await db
    .select()
    .from(assistants)
    .where(and(eq(assistants.id, id), visibleTo(assistants, caller)));
  if (row !== undefined) return toAssistant(row);
  throw new ServiceError("not_found", "There is no assistant of this id; see GET /v1/assistants.");
}
