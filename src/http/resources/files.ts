import { z } from "@hono/zod-openapi";
import { parseRequest } from "../../codecs/shared/check-request.ts";
import type { Caller } from "../../core/callers/caller.ts";
import type { Deps } from "../../deps.ts";
import { createFile } from "../../knowledge/files/create-file.ts";
import { deleteFile } from "../../knowledge/files/delete-files.ts";
import { findFile, findOriginal, listFiles, type StoredFile } from "../../knowledge/files/files.ts";
import { refuseBoundKeyHere, refuseSharing } from "../../knowledge/rights.ts";
import { fileResponse } from "../answers/file-response.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { type BodyStream, readBodyStream } from "../bodies/read-body-stream.ts";
import { FORM_MAX_BYTES, readFileUpload } from "../bodies/read-file-upload.ts";
import { formBoundary } from "../bodies/read-form.ts";
import { createUploadPlaces } from "../bodies/upload-places.ts";
import { count, queryId, unixSeconds } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

/** OpenAI's limits: of a page, and of `expires_after.seconds`. */
const MAX_LIMIT = 10_000;
const MIN_SECONDS = 3_600;
const MAX_SECONDS = 2_592_000;
const DIGITS = /^\d{1,10}$/;
/** Uploads that this server takes at once, and those of one user: each has an open file. */
const UPLOADS = { max: 200, maxOfOwner: 20 } as const;

const visibility = z.enum(["private", "everyone"]).openapi({
  description: "Who may use it beside its owner; only administrators give `everyone`.",
});

const newFile = z
  .strictObject({
    purpose: z.enum(["assistants", "user_data", "vision", "batch", "fine-tune", "evals"]).openapi({
      description: "Its purpose, which is stored and has no effect.",
      example: "assistants",
    }),
    expires_after: z
      .strictObject({
        anchor: z.literal("created_at"),
        seconds: z.preprocess(
          (text) => (DIGITS.test(String(text)) ? Number(text) : text),
          z.int().min(MIN_SECONDS).max(MAX_SECONDS),
        ),
      })
      .optional()
      .openapi({ description: "The file is deleted so many seconds after its upload." }),
    ext: z.strictObject({ visibility: visibility.optional() }).optional(),
  })
  .openapi("NewFileFields");
const newFileForm = newFile
  .extend({ file: z.string().openapi({ format: "binary", description: "One file." }) })
  .openapi("NewFile");

const EXAMPLE = {
  id: "file-3v9QmTq2LxZ8cR5nYb7KdW",
  object: "file",
  bytes: 48_211,
  created_at: 1_790_000_000,
  expires_at: null,
  filename: "manual.pdf",
  purpose: "assistants",
  status: "processed",
  ext: { visibility: "private", owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra" },
};

const file = z
  .object({
    id: z.string(),
    object: z.literal("file"),
    bytes: count,
    created_at: unixSeconds,
    expires_at: unixSeconds.nullable().openapi({ description: "Null: never." }),
    filename: z.string(),
    purpose: z.string(),
    status: z.literal("processed"),
    ext: z.object({
      visibility,
      owner_id: z.string().nullable().openapi({ description: "Null when the user was deleted." }),
    }),
  })
  .openapi("File", { example: EXAMPLE });

const fileList = z
  .object({
    object: z.literal("list"),
    data: z.array(file),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean().openapi({ description: "There are further ones after this page." }),
  })
  .openapi("FileList");
const deletedFile = z
  .object({ id: z.string(), object: z.literal("file"), deleted: z.literal(true) })
  .openapi("DeletedFile", {
    example: { id: "file-3v9QmTq2LxZ8cR5nYb7KdW", object: "file", deleted: true },
  });
const fileQuery = z.strictObject({
  purpose: queryId.optional(),
  limit: z.int().min(1).max(MAX_LIMIT).default(MAX_LIMIT),
  order: z.enum(["asc", "desc"]).default("desc").openapi({ description: "By `created_at`." }),
  after: queryId.optional().openapi({ description: "The id before the page." }),
});

const COLLECTION = { path: "/v1/files", access: "caller", tag: "Files" } as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;
const errors = { 403: "The key is bound to an assistant, or the caller may only read the file." };
const errorsOfOne = { ...errors, 404: "There is no such file for the caller." };

const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createFile",
  summary: "Upload a file",
  description:
    "A form with the file and its purpose. Nested fields are written `expires_after[seconds]`. The file may have " +
    "FILE_MAX_BYTES; it is stored once, however often its content is uploaded.",
  form: newFileForm,
  answer: { description: "The file.", schema: file },
  errors: { ...errors, 429: "The user uploads 20 files already." },
});
const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listFiles",
  summary: "List the files",
  description: "The caller's own and those for everyone; administrators see all.",
  query: fileQuery,
  answer: { description: "A page of the files.", schema: fileList },
  errors: { ...errors, 400: "A parameter of the page is wrong; `param` names it." },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getFile",
  summary: "Show one file",
  answer: { description: "The file.", schema: file },
  errors: errorsOfOne,
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteFile",
  summary: "Delete a file",
  description: "It leaves every vector store too. Its owner and administrators may do this.",
  answer: { description: "The file is gone.", schema: deletedFile },
  errors: errorsOfOne,
});
const content = resourceRoute({
  ...ONE,
  path: `${ONE.path}/content`,
  method: "get",
  operationId: "getFileContent",
  summary: "Download a file",
  answer: { description: "The bytes that were uploaded." },
  errors: errorsOfOne,
});
const CONTENT = {
  ...content,
  responses: {
    ...content.responses,
    200: {
      description: "The bytes that were uploaded.",
      content: { "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) } },
    },
  },
};

/** `/v1/files`: uploaded files, in OpenAI's shapes. */
export function filesRoutes(deps: Deps): Router {
  const store = deps.knowledge.files;
  const router = createRouter(deps);
  const add: Router["add"] = (definition, handler) =>
    router.add(definition, (context, caller) => {
      refuseBoundKeyHere(caller as Caller);
      return handler(context, caller);
    });
  add(CREATE, uploads(deps, router));
  add(LIST, async (context, caller) => {
    const { files, hasMore } = await listFiles(store, caller, readQuery(context, fileQuery));
    const page = {
      data: files.map(shown),
      firstId: files[0]?.id ?? null,
      lastId: files.at(-1)?.id ?? null,
      hasMore,
    };
    return jsonResponse(toJson(fileList, page));
  });
  add(FIND, async (context, caller) =>
    jsonResponse(toJson(file, shown(await findFile(store, caller, idOf(context))))),
  );
  add(DELETE, async (context, caller) => {
    const id = idOf(context);
    await deleteFile(store, actorOf(context, caller as Caller), id);
    return jsonResponse(toJson(deletedFile, { id }));
  });
  add(CONTENT, async (context, caller) => {
    const found = await findFile(store, caller, idOf(context));
    return fileResponse({ ...found, path: await findOriginal(store, found) });
  });
  return router;
}

/** Takes uploads. They are not counted in BODIES_IN_HAND_MB: only a few pieces of each are in memory. */
function uploads({ knowledge: { files: store } }: Deps, router: Router) {
  const limits = { maxBytes: store.maxBytes + FORM_MAX_BYTES, setting: "FILE_MAX_BYTES" };
  const places = createUploadPlaces(UPLOADS);
  const take = async (
    context: RequestContext,
    caller: Caller,
    onBody: (body: BodyStream) => void,
  ) => {
    const { raw } = context.req;
    const boundary = formBoundary(raw.headers);
    const body = readBodyStream(raw, limits, () => undefined);
    onBody(body);
    const upload = await readFileUpload(body, { boundary, store });
    try {
      const { purpose, expires_after, ext } = parseRequest(newFile, { ...upload.fields });
      refuseSharing(ext?.visibility, caller);
      const arrived = { ...upload, actor: actorOf(context, caller) };
      return await createFile(store, arrived, {
        filename: upload.filename,
        purpose,
        ownerId: caller.ownerId,
        visibility: ext?.visibility ?? "private",
        expiresAfter: expires_after?.seconds,
      });
    } finally {
      await upload.draft.discard();
    }
  };
  return async (context: RequestContext, caller: Caller): Promise<Response> => {
    let body: BodyStream | undefined;
    let leave: (() => void) | undefined;
    try {
      leave = places.take(caller.ownerId);
      const created = await take(context, caller, (opened) => {
        body = opened;
      });
      return jsonResponse(toJson(file, shown(created)));
    } catch (thrown) {
      const response = router.refuse(thrown, context);
      // The rest of a body that was refused unread must not be parsed as the next request.
      if (body?.isRead() !== true) response.headers.set("connection", "close");
      return response;
    } finally {
      leave?.();
    }
  };
}

function shown({ ownerId, visibility, ...found }: StoredFile) {
  return { ...found, ext: { visibility, ownerId } };
}
