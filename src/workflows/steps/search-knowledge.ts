import { z } from "zod";
import { cutQuestion } from "../../knowledge/retrieve/cut-question.ts";
import type { Passage } from "../../knowledge/retrieve/passage.ts";
import { readEmbeddingModel, readStore } from "../../knowledge/stores/stores.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { eachRowWithTexts } from "../models/each-row.ts";
import {
  checkModel,
  concurrency,
  fieldName,
  modelName,
  template,
  textExpressions,
} from "../models/model-fields.ts";
import { StepRefusal, toStepFailure } from "../models/to-step-failure.ts";
import { textWithField } from "../rows/row.ts";
import type { ClaimedRun } from "../runs/run.ts";
import { type CheckContext, defineStepKind, type FieldFault } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

interface SearchKnowledge {
  readonly vector_stores?: readonly string[] | undefined;
  readonly assistant?: string | undefined;
  readonly query: string;
  readonly top_k?: number | undefined;
  readonly min_similarity?: number | undefined;
  readonly output: string;
  readonly concurrency: number;
}

const MAX_STORES = 10;

const schema = z
  .strictObject({
    vector_stores: z
      .array(z.string().min(1).max(64))
      .min(1)
      .max(MAX_STORES)
      .optional()
      .describe("Ids of the vector stores that are searched."),
    assistant: modelName.optional().describe("An assistant whose stores are searched instead."),
    query: template.describe("What is searched for, with {{ }} for the row."),
    top_k: z.int().min(1).max(50).optional().describe("Passages at most; unset, RAG_TOP_K."),
    min_similarity: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe("The least similarity of a passage; unset, RAG_MIN_SIMILARITY."),
    output: fieldName.default("passages").describe("The field that gets the passages."),
    concurrency,
  })
  .refine(
    ({ vector_stores, assistant }) => (vector_stores === undefined) !== (assistant === undefined),
    {
      path: ["vector_stores"],
      message: "Set either `vector_stores` or `assistant`.",
    },
  );

/** What is searched, the same for all rows. */
interface Searched {
  readonly vectorStoreIds: readonly string[];
  /** In whose name the stores are read. */
  readonly readerId: string | null;
  readonly limit: number;
  readonly minSimilarity: number;
  /** The embedding model of the first store, by which the search is metered. */
  readonly model: string;
}

/** Searches vector stores for each row. */
export function searchKnowledgeStep(services: StepServices) {
  const { models, rowProcess, search } = services;
  return defineStepKind<SearchKnowledge>({
    kind: "search_knowledge",
    group: "model",
    label: "Search knowledge",
    help: "Finds the passages of vector stores that suit a question about each row.",
    example: {
      vector_stores: ["vs_3v9QmTq2LxZ8cR5nYb7KdW"],
      query: "{{ row.question }}",
      top_k: 5,
    },
    schema,
    needsKey: true,
    expressions: ({ query }) => textExpressions({ query }),
    check: (settings, context) => checkSearched(services, settings, context),
    async run(context) {
      const { run, addUsage, settings } = context;
      const { model, ...question } = await findSearched(services, settings, run);
      await eachRowWithTexts({ rowProcess }, context, {
        concurrency: settings.concurrency,
        texts: { query: settings.query },
        async work({ row, signal }, texts) {
          const text = cutQuestion(texts["query"] ?? "").trim();
          if (text === "") return [textWithField(row, settings.output, "[]")];
          const passages = await models.search(
            { run, signal, addUsage },
            { model, query: text, search: (made) => search({ ...question, ...made, text }) },
          );
          return [textWithField(row, settings.output, JSON.stringify(passages.map(shown)))];
        },
      });
      return undefined;
    },
  });
}

async function checkSearched(
  { models, stores }: StepServices,
  { vector_stores: ids = [], assistant }: SearchKnowledge,
  { owner, keyId }: CheckContext,
): Promise<readonly FieldFault[]> {
  if (assistant !== undefined) {
    return checkModel(models, { keyId, model: assistant, kind: "assistant" }, "assistant");
  }
  const faults = await Promise.all(
    ids.map(async (id, index) => {
      const reading = stores.database.ask((db) => readStore(db, id, owner));
      const failure = await reading.then(() => undefined, toStepFailure);
      if (failure === undefined || failure.isRetryable) return [];
      return [{ field: `vector_stores[${index}]`, message: failure.message }];
    }),
  );
  return faults.flat();
}

async function findSearched(
  { models, stores, settings: { RAG_TOP_K, RAG_MIN_SIMILARITY } }: StepServices,
  { vector_stores, assistant: name, top_k, min_similarity }: SearchKnowledge,
  { keyId, ownerId }: ClaimedRun,
): Promise<Searched> {
  const assistant = name === undefined ? undefined : await models.assistant(keyId, name);
  const vectorStoreIds = assistant?.vectorStoreIds ?? vector_stores ?? [];
  const reading = stores.database.ask((db) => readEmbeddingModel(db, vectorStoreIds));
  const model = await reading.catch((thrown) => Promise.reject(toStepFailure(thrown)));
  if (model === undefined) {
    throw new StepRefusal("not_found", "None of the vector stores of this step exists any more.");
  }
  return {
    vectorStoreIds,
    // The stores of an assistant are read in the name of its owner, as in its answers.
    readerId: assistant === undefined ? ownerId : assistant.ownerId,
    limit: top_k ?? assistant?.topK ?? RAG_TOP_K,
    minSimilarity: min_similarity ?? assistant?.minSimilarity ?? RAG_MIN_SIMILARITY,
    model,
  };
}

function shown(passage: Passage): JsonObject {
  const { text, score, fileId, filename, vectorStoreId, page, sheet, heading, attributes } =
    passage;
  return {
    ...{ text, score, filename, page, sheet, heading, attributes },
    file_id: fileId,
    vector_store_id: vectorStoreId,
  };
}
