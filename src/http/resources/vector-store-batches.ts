import { z } from "@hono/zod-openapi";
import { parseRequest } from "../../codecs/shared/check-request.ts";
import type { Deps } from "../../deps.ts";
import type { Folder } from "../../knowledge/ingest/ingestion-jobs.ts";
import { refuseBoundKeyHere } from "../../knowledge/rights.ts";
import type { NewStoreFile } from "../../knowledge/stores/add-files.ts";
import {
  cancelFileBatch,
  createFileBatch,
  type FileBatch,
  findFileBatch,
} from "../../knowledge/stores/file-batches.ts";
import { polledResponse } from "../answers/polled-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { readJsonBody } from "../bodies/read-json-body.ts";
import { count, unixSeconds } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import {
  attributes,
  chunkingStrategy,
  FORBIDDEN,
  fileCounts,
  fileId,
  fileIds,
  folder,
  newStoreFile,
  ONE as STORE,
} from "../vector-store-fields.ts";

/** Room for 500 files with all the attributes that each may have, written in escapes. */
const LIMITS = { maxBytes: 16 * 1024 * 1024, maxDepth: 16, isFixed: true } as const;
const MAX_FILES = 500;

const newBatch = z
  .strictObject({
    file_ids: fileIds.min(1).optional(),
    files: z
      .array(
        z.strictObject({
          file_id: fileId,
          attributes: attributes.nullable().optional(),
          chunking_strategy: chunkingStrategy.optional(),
        }),
      )
      .min(1)
      .max(MAX_FILES)
      .optional()
      .openapi({ description: "Files with attributes and strategies of their own." }),
    attributes: attributes.nullable().optional(),
    chunking_strategy: chunkingStrategy.optional(),
    ext: folder.optional(),
  })
  .refine(
    ({ file_ids, files, ext }) =>
      [file_ids, files, ext].filter((source) => source !== undefined).length === 1,
    "one of `file_ids`, `files` and `ext`",
  )
  .openapi("NewVectorStoreFileBatch", {
    example: { file_ids: ["file-3v9QmTq2LxZ8cR5nYb7KdW", "file-7hB2kXw9PfM4sVt6JcN1Ra"] },
  });

const fileBatch = z
  .object({
    id: z.string(),
    object: z.literal("vector_store.files_batch"),
    created_at: unixSeconds,
    vector_store_id: z.string(),
    status: z
      .enum(["in_progress", "completed", "cancelled", "failed"])
      .openapi({ description: "`failed`: none of its files could be read." }),
    file_counts: fileCounts,
    ext: z.object({
      folder: z.object({ file_connection: z.string(), glob: z.string() }).nullable(),
      remaining: count.openapi({
        description: "Files of the folder that were left for a further batch.",
      }),
    }),
  })
  .openapi("VectorStoreFileBatch", {
    example: {
      id: "vsfb_3v9QmTq2LxZ8cR5nYb7KdW",
      object: "vector_store.files_batch",
      created_at: 1_790_000_000,
      vector_store_id: "vs_3v9QmTq2LxZ8cR5nYb7KdW",
      status: "in_progress",
      file_counts: { in_progress: 1, completed: 1, failed: 0, cancelled: 0, total: 2 },
      ext: { folder: null, remaining: 0 },
    },
  });

const COLLECTION = { ...STORE, path: `${STORE.path}/file_batches` } as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{batch_id}` } as const;
const NO_PLACE = { 404: "There is no such vector store for the caller, or no such file or batch." };
const errors = { ...FORBIDDEN, ...NO_PLACE };

const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createVectorStoreFileBatch",
  summary: "Add files to a vector store together",
  description:
    "Up to 500 files by `file_ids`, all with the same `attributes`, or by `files`, each with its own; or, for " +
    "administrators, the first 500 new and changed files of a folder by `ext`.",
  body: newBatch,
  answer: { description: "The batch.", schema: fileBatch },
  errors,
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getVectorStoreFileBatch",
  summary: "Show a file batch",
  answer: { description: "The batch.", schema: fileBatch },
  errors,
});
const CANCEL = resourceRoute({
  ...ONE,
  path: `${ONE.path}/cancel`,
  method: "post",
  operationId: "cancelVectorStoreFileBatch",
  summary: "Cancel a file batch",
  description:
    "Files that are completed stay in the store. A batch that has ended does not change.",
  answer: { description: "The batch as it is now.", schema: fileBatch },
  errors,
});
/** `/v1/vector_stores/{id}/file_batches`: files that are added together. */
export function vectorStoreBatchesRoutes(deps: Deps): Router {
  const { stores } = deps.knowledge;
  const router = createRouter(deps);
  router.add(CREATE, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const { body } = await readJsonBody(context.req.raw, LIMITS);
    const created = { storeId: idOf(context), source: sourceOf(parseRequest(newBatch, body)) };
    return batchResponse(await createFileBatch(stores, actorOf(context, caller), created));
  });
  router.add(FIND, async (context, caller) => {
    refuseBoundKeyHere(caller);
    return batchResponse(await findFileBatch(stores, caller, placeOf(context)));
  });
  router.add(CANCEL, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const actor = actorOf(context, caller);
    return batchResponse(await cancelFileBatch(stores, actor, placeOf(context)));
  });
  return router;
}

function sourceOf(given: z.output<typeof newBatch>): readonly NewStoreFile[] | Folder {
  const { file_ids = [], files, attributes, chunking_strategy, ext } = given;
  if (ext !== undefined) return toRecord(ext);
  const added = files ?? file_ids.map((file_id) => ({ file_id, attributes, chunking_strategy }));
  return added.map(newStoreFile);
}

function batchResponse(batch: FileBatch): Response {
  const { folder, remaining } = batch;
  const record = { ...batch, ext: { folder, remaining } };
  return polledResponse(toJson(fileBatch, record), batch.status === "in_progress");
}

function placeOf(context: RequestContext) {
  return { storeId: idOf(context), id: context.req.param("batch_id") ?? "" };
}
