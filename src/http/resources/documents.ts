import { z } from "@hono/zod-openapi";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { Deps } from "../../deps.ts";
import { toAbortSignal } from "../../lib/cancellation.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { type BodyStream, readBodyStream } from "../bodies/read-body-stream.ts";
import { FORM_MAX_BYTES, readFileUpload } from "../bodies/read-file-upload.ts";
import { formBoundary } from "../bodies/read-form.ts";
import { createUploadPlaces } from "../bodies/upload-places.ts";
import { count } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { openQuietCall } from "../request/open-quiet-call.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

/** More than the context of most models; the rest of a longer document belongs into a vector store. */
const MAX_CHARACTERS = 1_000_000;
const PLACES = { max: 50, maxOfOwner: 5 } as const;

const documentUpload = z
  .object({ file: z.string().openapi({ format: "binary", description: "The document." }) })
  .openapi("DocumentUpload");
const documentText = z
  .object({
    object: z.literal("document.text"),
    filename: z.string(),
    bytes: count,
    characters: count.openapi({ description: "Of `text`, in UTF-16 units." }),
    pages: count.nullable().openapi({
      description: "The last page or slide that was read; null where the format has none.",
    }),
    truncated: z.boolean().openapi({
      description: "The document goes on; the text is its first 1,000,000 characters.",
    }),
    text: z.string(),
  })
  .openapi("DocumentText", {
    example: {
      object: "document.text",
      filename: "manual.pdf",
      bytes: 48_213,
      characters: 31,
      pages: 1,
      truncated: false,
      text: "# Pump\n\nE-4711: the pump is dry.",
    },
  });

const READ = resourceRoute({
  path: "/api/documents/text",
  method: "post",
  access: "session",
  tokens: "closed",
  tag: "Files",
  operationId: "readDocument",
  summary: "Read the text of a document",
  description:
    "Any text, HTML, CSV, JSON, XML, PDF, Word, Excel, PowerPoint and OpenDocument, up to FILE_MAX_BYTES. Headings are " +
    "marked as in Markdown, a row of a table is a line. Nothing of it is kept.",
  form: documentUpload,
  answer: { description: "The text.", schema: documentText },
  errors: {
    400: "The form is wrong, or the document is damaged, encrypted or beyond a limit of reading.",
    415: "The body is no multipart form with a boundary, or the file is no document with text.",
    429: "The user reads too many documents at a time.",
  },
});

/** `POST /api/documents/text`. */
export function documentsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const places = createUploadPlaces(PLACES);
  router.add(READ, async (context, caller) => {
    let body: BodyStream | undefined;
    let leave: (() => void) | undefined;
    try {
      leave = places.take(caller.ownerId);
      return await answer(deps, context, (opened) => {
        body = opened;
      });
    } catch (thrown) {
      const response = router.refuse(thrown, context);
      // The rest of a body that was refused unread must not be parsed as the next request.
      if (body?.isRead() !== true) response.headers.set("connection", "close");
      return response;
    } finally {
      leave?.();
    }
  });
  return router;
}

async function answer(
  deps: Deps,
  context: RequestContext,
  onBody: (body: BodyStream) => void,
): Promise<Response> {
  const { files: store, readText } = deps.knowledge;
  const { raw } = context.req;
  const boundary = formBoundary(raw.headers);
  // The document may take a minute to read, and its reading ends when the client leaves.
  const open = openQuietCall(deps, context);
  try {
    const signal = toAbortSignal(open.signal);
    const limits = { maxBytes: store.maxBytes + FORM_MAX_BYTES, setting: "FILE_MAX_BYTES", signal };
    const body = readBodyStream(raw, limits, () => open.abort());
    onBody(body);
    const { draft, filename, content, fields } = await readFileUpload(body, { boundary, store });
    try {
      const [unknown] = Object.keys(fields);
      if (unknown !== undefined) throw invalidValue([unknown], "no field beside 'file'", unknown);
      const source = { path: draft.path, filename };
      const read = await readText(source, { maxCharacters: MAX_CHARACTERS, signal });
      return jsonResponse({
        object: "document.text",
        filename,
        bytes: content.bytes,
        characters: read.text.length,
        pages: read.pages ?? null,
        truncated: read.isCut,
        text: read.text,
      });
    } finally {
      await draft.discard();
    }
  } finally {
    open.close();
  }
}
