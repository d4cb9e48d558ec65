import type { ChatMessage, ChatRequest } from "../../core/chat/chat-request.ts";
import { cutQuestion } from "../../knowledge/retrieve/cut-question.ts";
import type { Passage, Question } from "../../knowledge/retrieve/passage.ts";
import { toAbortSignal } from "../../lib/cancellation.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { ClientCall } from "../gateway.ts";
import type { AssistantServices } from "./assistant-services.ts";
import type { AssistedRun } from "./prepare-run.ts";

export interface Retrieved {
  /** The text that was searched for; empty when the question has none. */
  readonly query: string;
  /** For the assistant. */
  readonly passages: readonly Passage[];
  /** For the client's own search; undefined when it wants none. */
  readonly found: readonly Passage[] | undefined;
}

/** A shorter question may refer to the one before: "and last year?" */
const SHORT_QUESTION = 60;

/**
 * Searches before the model is asked: the assistant's stores, and those that the client names. Rejects when a search
 * fails, except for an assistant whose grounding is `off`; and with the reason of the call's signal.
 */
export async function retrievePassages(
  services: AssistantServices,
  { caller, signal: given }: Pick<ClientCall, "caller" | "signal">,
  run: AssistedRun,
): Promise<Retrieved> {
  const { fileSearch } = run.request;
  const query = queryOf(run.request);
  if (fileSearch !== undefined) await services.checkStores(caller, fileSearch.vectorStoreIds);
  const signal = toAbortSignal(given);
  const search = (question: Omit<Question, "text" | "signal">) =>
    untilAborted(services.search({ ...question, text: query, signal }), signal);
  const { settings } = services;
  const [passages, found] = await Promise.all([
    query === "" ? [] : searchForAssistant(services, run, search, signal),
    fileSearch && query !== ""
      ? search({
          vectorStoreIds: fileSearch.vectorStoreIds,
          limit: fileSearch.limit ?? settings.RAG_TOP_K,
          minSimilarity: fileSearch.minSimilarity ?? settings.RAG_MIN_SIMILARITY,
          filter: fileSearch.filter,
        })
      : undefined,
  ]);
  return { query, passages, found: fileSearch && (found ?? []) };
}

async function searchForAssistant(
  { settings, log }: AssistantServices,
  { assistant, grounding }: AssistedRun,
  search: (question: Omit<Question, "text" | "signal">) => Promise<readonly Passage[]>,
  signal: AbortSignal,
): Promise<readonly Passage[]> {
  if (assistant === undefined || assistant.vectorStoreIds.length === 0) return [];
  const searching = search({
    vectorStoreIds: assistant.vectorStoreIds,
    readerId: assistant.ownerId,
    limit: assistant.topK ?? settings.RAG_TOP_K,
    minSimilarity: assistant.minSimilarity ?? settings.RAG_MIN_SIMILARITY,
  });
  if (grounding !== "off") return searching;
  try {
    return await searching;
  } catch (error) {
    signal.throwIfAborted();
    log.warn(
      { error, assistant: assistant.id },
      "the vector stores of an assistant cannot be searched; it answers without passages",
    );
    return [];
  }
}

/** Returns the last question of the user, with the one before if it is short. */
function queryOf({ messages }: ChatRequest): string {
  const asked = messages.filter(({ role }) => role === "user").map(textOf);
  const last = asked.at(-1) ?? "";
  const before = last.length < SHORT_QUESTION ? (asked.at(-2) ?? "") : "";
  return cutQuestion([before, last].filter((text) => text !== "").join("\n"));
}

function textOf({ content }: ChatMessage): string {
  return content
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n")
    .trim();
}
