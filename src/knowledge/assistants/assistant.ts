import type { Caller } from "../../core/callers/caller.ts";
import type { Effort } from "../../core/chat/effort.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Owned } from "../rights.ts";

/** What tools may do, from the least to the most. */
export type ToolLevel = "read_only" | "write" | "full_auto";

/** How far an answer keeps to the passages that were found. */
export type Grounding = "off" | "prefer" | "strict";

/** An assistant as the database has it. */
export interface Assistant extends Owned {
  /** `asst_` and 22 base62 characters. */
  readonly id: string;
  /** Null: it is shown under its id. */
  readonly name: string | null;
  readonly slug: string;
  /** Null: the default chat model. */
  readonly model: string | null;
  readonly description: string | null;
  readonly instructions: string | null;
  /** Names of tools, or patterns with a trailing `*`. */
  readonly tools: readonly string[];
  readonly vectorStoreIds: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly reasoningEffort: Effort | null;
  /** As the client sent it; null is `auto`. */
  readonly responseFormat: JsonObject | null;
  readonly maxLevel: ToolLevel;
  readonly sqlConnections: readonly string[];
  readonly fileConnections: readonly string[];
  /** Null where the setting of the same purpose applies. */
  readonly grounding: Grounding | null;
  readonly topK: number | null;
  readonly minSimilarity: number | null;
  readonly noAnswerText: string | null;
  readonly createdAt: Date;
}

/** All assistants, held in memory, so that no call waits for the database to learn whether a model's name is one. */
export interface KnownAssistants {
  /**
   * Returns the assistant of this id, name or slug that the caller may use; undefined for any other name, and for an
   * assistant that does not exist for the caller. Administrators reach others' private assistants only by id. A key that
   * is bound to an assistant may use only that one, whoever owns it. Does not wait.
   */
  readonly find: (name: string, caller: Caller) => Assistant | undefined;
  /** Those that the caller may use, by name. */
  readonly list: (caller: Caller) => readonly Assistant[];
}
