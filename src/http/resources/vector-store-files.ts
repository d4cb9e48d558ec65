import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { refuseBoundKeyHere } from "../../knowledge/rights.ts";
import {
  addStoreFile,
  findStoreFile,
  listStoreFiles,
  readContent,
  removeStoreFile,
  type StoreFile,
  setAttributes,
} from "../../knowledge/stores/store-files.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { polledResponse } from "../answers/polled-response.ts";
import { toJson } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { listRecord } from "../cursor-list.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import {
  attributes,
  chunkingStrategy,
  FORBIDDEN,
  fileId,
  newStoreFile,
  ONE as STORE,
} from "../vector-store-fields.ts";
import {
  fileList,
  fileQuery,
  fileRecord,
  singleRecord,
  storeFile,
} from "../vector-store-file-fields.ts";

const newFile = z
  .strictObject({
    file_id: fileId,
    attributes: attributes.nullable().optional(),
    chunking_strategy: chunkingStrategy.optional(),
  })
  .openapi("NewVectorStoreFile", { example: { file_id: "file-3v9QmTq2LxZ8cR5nYb7KdW" } });
const fileChange = z
  .strictObject({ attributes: attributes.nullable() })
  .openapi("VectorStoreFileChange", { example: { attributes: { year: 2026 } } });

const deletedFile = z
  .object({
    id: z.string(),
    object: z.literal("vector_store.file.deleted"),
    deleted: z.literal(true),
  })
  .openapi("DeletedVectorStoreFile", {
    example: {
      id: "file-3v9QmTq2LxZ8cR5nYb7KdW",
      object: "vector_store.file.deleted",
      deleted: true,
    },
  });
const content = z
  .object({
    object: z.literal("vector_store.file_content.page"),
    data: z.array(z.object({ type: z.literal("text"), text: z.string() })),
    has_more: z.literal(false),
    next_page: z.null(),
  })
  .openapi("VectorStoreFileContent", {
    example: {
      object: "vector_store.file_content.page",
      data: [{ type: "text", text: "Turn the lid to the left and lift the filter out." }],
      has_more: false,
      next_page: null,
    },
  });
const COLLECTION = { ...STORE, path: `${STORE.path}/files` } as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{file_id}` } as const;
const NO_PLACE = { 404: "There is no such vector store for the caller, or no such file." };
const errors = { ...FORBIDDEN, ...NO_PLACE };

const ADD = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createVectorStoreFile",
  summary: "Add a file to a vector store",
  description:
    "It is read, split and embedded in the background, and found once all of it is stored. A file that the store has " +
    "already is not read again, unless it failed or is to be split in another way.",
  body: newFile,
  answer: { description: "The file in the store.", schema: storeFile },
  errors,
});
const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listVectorStoreFiles",
  summary: "List the files of a vector store",
  query: fileQuery,
  answer: { description: "A page of the files.", schema: fileList },
  errors: { ...errors, 400: "A parameter of the page is wrong; `param` names it." },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getVectorStoreFile",
  summary: "Show a file of a vector store",
  description:
    "A file whose batch was cancelled shows as `failed` here, because clients that wait for one file know no other end.",
  answer: { description: "The file in the store.", schema: storeFile },
  errors,
});
const UPDATE = resourceRoute({
  ...ONE,
  method: "post",
  operationId: "updateVectorStoreFile",
  summary: "Replace the attributes of a file",
  body: fileChange,
  answer: { description: "The file as it is now.", schema: storeFile },
  errors,
});
const REMOVE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteVectorStoreFile",
  summary: "Take a file out of a vector store",
  description:
    "An uploaded file itself stays; see `DELETE /v1/files/{id}`. A file that was copied from a folder is deleted, unless another store has it.",
  answer: { description: "The store no longer has it.", schema: deletedFile },
  errors,
});
const CONTENT = resourceRoute({
  ...ONE,
  path: `${ONE.path}/content`,
  method: "get",
  operationId: "getVectorStoreFileContent",
  summary: "Show what was read from a file",
  description: "Its chunks in order; neighbours overlap as `chunking_strategy` says.",
  answer: { description: "The texts; none before the file is completed.", schema: content },
  errors,
});

const LIST_OF_BATCH = resourceRoute({
  ...STORE,
  path: `${STORE.path}/file_batches/{batch_id}/files`,
  method: "get",
  operationId: "listVectorStoreFileBatchFiles",
  summary: "List the files of a file batch",
  query: fileQuery,
  answer: { description: "A page of the files.", schema: fileList },
  errors: { ...errors, 400: "A parameter of the page is wrong; `param` names it." },
});

/** `/v1/vector_stores/{id}/files`: the files that a store was made of. */
export function vectorStoreFilesRoutes(deps: Deps): Router {
  const { stores } = deps.knowledge;
  const router = createRouter(deps);
  const fileResponse = (row: StoreFile) =>
    polledResponse(toJson(storeFile, singleRecord(deps, row)), row.status === "in_progress");
  router.add(ADD, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const file = newStoreFile(await readCheckedBody(context, newFile));
    const added = { storeId: idOf(context), file };
    return fileResponse(await addStoreFile(stores, actorOf(context, caller), added));
  });
  router.add(LIST, async (context, caller) => {
    refuseBoundKeyHere(caller);
    return listFiles(deps, context, { storeId: idOf(context), caller });
  });
  router.add(LIST_OF_BATCH, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const batchId = context.req.param("batch_id") ?? "";
    return listFiles(deps, context, { storeId: idOf(context), batchId, caller });
  });
  router.add(FIND, async (context, caller) => {
    refuseBoundKeyHere(caller);
    return fileResponse(await findStoreFile(stores, caller, placeOf(context)));
  });
  router.add(UPDATE, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const { attributes } = await readCheckedBody(context, fileChange);
    const change = { ...placeOf(context), attributes: attributes ?? {} };
    return fileResponse(await setAttributes(stores, actorOf(context, caller), change));
  });
  router.add(REMOVE, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const place = placeOf(context);
    await removeStoreFile(stores, actorOf(context, caller), place);
    return jsonResponse(toJson(deletedFile, { id: place.id }));
  });
  router.add(CONTENT, async (context, caller) => {
    refuseBoundKeyHere(caller);
    const texts = await readContent(stores, caller, placeOf(context));
    const data = texts.map((text) => ({ text }));
    return jsonResponse(toJson(content, { data, nextPage: null }));
  });
  return router;
}

type Listed = Pick<Parameters<typeof listStoreFiles>[2], "storeId" | "batchId"> & {
  readonly caller: Parameters<typeof listStoreFiles>[1];
};

/** Answers with a page of the files of a store, or of those of a batch in it. */
async function listFiles(
  deps: Deps,
  context: RequestContext,
  { caller, ...listed }: Listed,
): Promise<Response> {
  const { filter: status, ...cursor } = readQuery(context, fileQuery);
  const asked = { ...listed, status, cursor };
  const page = await listStoreFiles(deps.knowledge.stores, caller, asked);
  const items = page.items.map((row) => fileRecord(deps, row));
  return jsonResponse(toJson(fileList, listRecord({ ...page, items })));
}

function placeOf(context: RequestContext) {
  return { storeId: idOf(context), id: context.req.param("file_id") ?? "" };
}
