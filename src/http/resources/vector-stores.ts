import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { refuseBoundKeyHere } from "../../knowledge/rights.ts";
import type { VectorStore } from "../../knowledge/stores/vector-store.ts";
import {
  createStore,
  deleteStore,
  findStore,
  listStores,
  reindexStore,
  updateStore,
} from "../../knowledge/stores/vector-stores.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { polledResponse } from "../answers/polled-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { hasBody, readCheckedBody } from "../bodies/read-checked-body.ts";
import { cursorList, cursorQuery, listRecord } from "../cursor-list.ts";
import { count, metadata, storableText, unixSeconds } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import {
  COLLECTION,
  chunkingStrategy,
  FORBIDDEN,
  fileCounts,
  fileIds,
  folder,
  NO_STORE,
  newStoreFile,
  ONE,
} from "../vector-store-fields.ts";

const MAX_DAYS = 365;

const name = storableText(256).openapi({ example: "manuals" });
const description = storableText(512);
const visibility = z.enum(["private", "everyone"]).openapi({
  description: "`everyone`: all users may search it; only administrators share a store.",
});
const embeddingModel = storableText(512).min(1).openapi({
  description: "The model for its vectors; unset takes the default. A store keeps its model.",
});
const expiresAfter = z
  .strictObject({ anchor: z.literal("last_active_at"), days: z.int().min(1).max(MAX_DAYS) })
  .openapi({ description: "When the store expires: so many days after it was last used." });

const newStore = z
  .strictObject({
    name: name.nullable().optional(),
    description: description.nullable().optional(),
    file_ids: fileIds.default([]),
    expires_after: expiresAfter.nullable().optional(),
    chunking_strategy: chunkingStrategy.optional(),
    metadata: metadata.nullable().optional(),
    ext: z
      .strictObject({
        visibility: visibility.default("private"),
        embedding_model: embeddingModel.optional(),
        folder: folder.nullable().default(null),
      })
      .optional(),
  })
  .openapi("NewVectorStore", { example: { name: "manuals" } });

const storeChange = z
  .strictObject({
    name: name.nullable().optional(),
    description: description.nullable().optional(),
    expires_after: expiresAfter.nullable().optional(),
    metadata: metadata.nullable().optional(),
    ext: z
      .strictObject({ visibility: visibility.optional(), folder: folder.nullable().optional() })
      .optional(),
  })
  .openapi("VectorStoreChange", { example: { name: "all manuals" } });

const reindex = z
  .strictObject({ ext: z.strictObject({ embedding_model: embeddingModel.optional() }).optional() })
  .openapi("VectorStoreReindex", { example: {} });

const vectorStore = z
  .object({
    id: z.string(),
    object: z.literal("vector_store"),
    created_at: unixSeconds,
    name,
    description: description.nullable(),
    usage_bytes: count.openapi({ description: "Of the passages and vectors in the database." }),
    file_counts: fileCounts,
    status: z.enum(["in_progress", "completed", "expired"]).openapi({
      description:
        "`in_progress` while files are being read; `completed` also when some have failed.",
    }),
    expires_after: z.object({ anchor: z.literal("last_active_at"), days: z.int() }).nullable(),
    expires_at: unixSeconds.nullable(),
    last_active_at: unixSeconds,
    metadata,
    ext: z.object({
      owner_id: z.string().nullable(),
      visibility,
      embedding_model: z.string(),
      chunks: count.openapi({ description: "Passages that a search looks through." }),
      folder: z
        .object({ file_connection: z.string(), glob: z.string() })
        .nullable()
        .openapi({ description: "The folder that it follows." }),
      reindex: z
        .object({
          status: z.enum(["in_progress", "failed"]),
          error: z.string().nullable().openapi({ description: "Why it failed." }),
          embedding_model: z
            .string()
            .nullable()
            .openapi({ description: "The model of the vectors that are being made." }),
          chunks_done: count,
          chunks_total: count,
        })
        .nullable()
        .openapi({
          description:
            "Set while the passages are embedded again, and after that has failed. The store is searched as before.",
        }),
    }),
  })
  .openapi("VectorStore", {
    example: {
      id: "vs_3v9QmTq2LxZ8cR5nYb7KdW",
      object: "vector_store",
      created_at: 1_790_000_000,
      name: "manuals",
      description: null,
      usage_bytes: 81_920,
      file_counts: { in_progress: 0, completed: 2, failed: 0, cancelled: 0, total: 2 },
      status: "completed",
      expires_after: null,
      expires_at: null,
      last_active_at: 1_790_000_600,
      metadata: {},
      ext: {
        owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
        visibility: "private",
        embedding_model: "bge-m3",
        chunks: 24,
        folder: null,
        reindex: null,
      },
    },
  });

const storeList = cursorList(vectorStore).openapi("VectorStoreList");
const deletedStore = z
  .object({ id: z.string(), object: z.literal("vector_store.deleted"), deleted: z.literal(true) })
  .openapi("DeletedVectorStore", {
    example: { id: "vs_3v9QmTq2LxZ8cR5nYb7KdW", object: "vector_store.deleted", deleted: true },
  });
const storeQuery = cursorQuery({});

const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createVectorStore",
  summary: "Create a vector store",
  description:
    "Its files are read, split and embedded in the background; `file_counts` shows how far that is. The store is " +
    "private, until an administrator shares it.",
  body: newStore,
  answer: { description: "The store.", schema: vectorStore },
  errors: { ...FORBIDDEN, 404: "There is no such file for the caller." },
});
const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listVectorStores",
  summary: "List the vector stores",
  description: "Those that the caller may use.",
  query: storeQuery,
  answer: { description: "A page of the stores.", schema: storeList },
  errors: { ...FORBIDDEN, 400: "A parameter of the page is wrong; `param` names it." },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getVectorStore",
  summary: "Show one vector store",
  answer: { description: "The store.", schema: vectorStore },
  errors: { ...FORBIDDEN, ...NO_STORE },
});
const UPDATE = resourceRoute({
  ...ONE,
  method: "post",
  operationId: "updateVectorStore",
  summary: "Change a vector store",
  description:
    "Fields that are not sent stay as they are. `expires_after` of a store that has expired counts from now.",
  body: storeChange,
  answer: { description: "The store as it is now.", schema: vectorStore },
  errors: { ...FORBIDDEN, ...NO_STORE },
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteVectorStore",
  summary: "Delete a vector store",
  description:
    "Uploaded files stay. Files that were copied from a folder are deleted, unless another store has them.",
  answer: { description: "The store is gone.", schema: deletedStore },
  errors: { ...FORBIDDEN, ...NO_STORE },
});
const REINDEX = resourceRoute({
  ...ONE,
  path: `${ONE.path}/reindex`,
  method: "post",
  operationId: "reindexVectorStore",
  summary: "Embed a vector store again",
  description:
    "Splits and embeds all its files again, by default with the embedding model of new stores. The store is searched " +
    "as before until that has ended; `ext.reindex` shows how far it is.",
  body: reindex,
  hasOptionalBody: true,
  answer: { description: "The store; the work is in progress.", schema: vectorStore },
  errors: { ...FORBIDDEN, ...NO_STORE },
});

/** `/v1/vector_stores`: collections of files that can be searched. */
export function vectorStoresRoutes(deps: Deps): Router {
  const { stores } = deps.knowledge;
  const router = createRouter(deps);
  router.add(CREATE, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const { ext, ...given } = await readCheckedBody(context, newStore);
    const { chunking_strategy, file_ids } = given;
    const created = await createStore(stores, actorOf(context, caller), {
      name: given.name ?? "",
      description: given.description ?? null,
      metadata: given.metadata ?? {},
      expiresAfterDays: given.expires_after?.days ?? null,
      visibility: ext?.visibility ?? "private",
      folder: ext?.folder ? toRecord(ext.folder) : null,
      embeddingModel: ext?.embedding_model,
      files: file_ids.map((file_id) => newStoreFile({ file_id, chunking_strategy })),
    });
    return storeResponse(created);
  });
  router.add(LIST, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const page = await listStores(stores, caller, readQuery(context, storeQuery));
    const record = listRecord({ ...page, items: page.items.map(storeRecord) });
    return jsonResponse(toJson(storeList, record));
  });
  router.add(FIND, async (context, caller) => {
    refuseBoundKeyHere(caller);
    return storeResponse(await findStore(stores, caller, idOf(context)));
  });
  router.add(UPDATE, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const { ext, ...given } = await readCheckedBody(context, storeChange);
    const fields = {
      name: given.name === null ? "" : given.name,
      description: given.description,
      metadata: given.metadata === null ? {} : given.metadata,
      expiresAfterDays: given.expires_after === null ? null : given.expires_after?.days,
      visibility: ext?.visibility,
      folder: ext?.folder && toRecord(ext.folder),
    };
    const change = { id: idOf(context), fields };
    return storeResponse(await updateStore(stores, actorOf(context, caller), change));
  });
  router.add(DELETE, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const id = idOf(context);
    await deleteStore(stores, actorOf(context, caller), id);
    return jsonResponse(toJson(deletedStore, { id }));
  });
  router.add(REINDEX, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const given = hasBody(context) ? await readCheckedBody(context, reindex) : {};
    const asked = { id: idOf(context), embeddingModel: given.ext?.embedding_model };
    return storeResponse(await reindexStore(stores, actorOf(context, caller), asked));
  });
  return router;
}

function storeResponse(store: VectorStore): Response {
  const isInProgress = store.status === "in_progress" || store.reindex?.status === "in_progress";
  return polledResponse(toJson(vectorStore, storeRecord(store)), isInProgress);
}

function storeRecord(store: VectorStore) {
  const { ownerId, visibility, embeddingModel, expiresAfterDays: days, reindex } = store;
  const { folderConnection: fileConnection, folderGlob: glob, chunks } = store;
  const folder = fileConnection === null || glob === null ? null : { fileConnection, glob };
  return {
    ...store,
    expiresAfter: days === null ? null : { days },
    ext: { ownerId, visibility, embeddingModel, chunks, folder, reindex },
  };
}
