import { z } from "@hono/zod-openapi";
import { BODY_ERRORS, KEY_ERRORS, KEY_SECURITY, refusal } from "../openapi/documentation.ts";
import type { RouteDefinition } from "../request/route.ts";
import {
  biKeyChangeSchema,
  biKeySchema,
  issuedBiKeySchema,
  newBiKeySchema,
} from "./bi-key-schema.ts";
import { keyPageSchema } from "./key-page-schema.ts";

const COLLECTION = "/v1/bi-keys";
const ONE = `${COLLECTION}/{id}`;

const biKeyList = z
  .object({
    object: z.literal("list"),
    data: z.array(biKeySchema),
    total: z.number().int().openapi({ description: "How many there are on all pages." }),
  })
  .openapi("BiKeyList");

const deletedBiKey = z
  .object({ id: z.string(), object: z.literal("bi_key.deleted"), deleted: z.literal(true) })
  .openapi("DeletedBiKey");

const common: Pick<RouteDefinition<"caller">, "access" | "tags" | "security"> = {
  access: "caller",
  tags: ["BI keys"],
  security: KEY_SECURITY,
};
const id = { params: z.object({ id: z.string() }) };
const errors = {
  ...KEY_ERRORS,
  403: refusal("The caller is no administrator, or the key is restricted."),
};
const errorsOfOne = { ...errors, 404: refusal("There is no such BI key.") };

const json = <Schema extends z.ZodType>(schema: Schema) => ({ "application/json": { schema } });

/** What `/v1/bi-keys` is, for the router and for clients. */
export const BI_KEY_ROUTES = {
  create: {
    ...common,
    method: "post",
    path: COLLECTION,
    operationId: "createBiKey",
    summary: "Issue a BI key",
    description:
      "BI keys read data and open nothing else. The answer shows the secret, `key`, this once. Administrators alone " +
      "manage BI keys, by session or with an API key that nothing restricts.",
    request: { body: { required: true, content: json(newBiKeySchema) } },
    responses: {
      201: { description: "The key, with its secret.", content: json(issuedBiKeySchema) },
      ...errors,
      ...BODY_ERRORS,
    },
  },
  list: {
    ...common,
    method: "get",
    path: COLLECTION,
    operationId: "listBiKeys",
    summary: "List the BI keys",
    description: "The newest first.",
    request: { query: keyPageSchema },
    responses: {
      200: { description: "A page of the keys.", content: json(biKeyList) },
      400: refusal("A parameter of the page is wrong; `param` names it."),
      ...errors,
    },
  },
  find: {
    ...common,
    method: "get",
    path: ONE,
    operationId: "getBiKey",
    summary: "Show one BI key",
    description: "Without its secret, which is shown once only.",
    request: id,
    responses: {
      200: { description: "The key.", content: json(biKeySchema) },
      ...errorsOfOne,
    },
  },
  update: {
    ...common,
    method: "patch",
    path: ONE,
    operationId: "updateBiKey",
    summary: "Change a BI key",
    description: "Fields that are not sent stay as they are.",
    request: { ...id, body: { required: true, content: json(biKeyChangeSchema) } },
    responses: {
      200: { description: "The key as it is now.", content: json(biKeySchema) },
      ...errorsOfOne,
      ...BODY_ERRORS,
    },
  },
  delete: {
    ...common,
    method: "delete",
    path: ONE,
    operationId: "deleteBiKey",
    summary: "Delete a BI key",
    description: "It opens nothing from then on.",
    request: id,
    responses: {
      200: { description: "The key is gone.", content: json(deletedBiKey) },
      ...errorsOfOne,
    },
  },
  rotate: {
    ...common,
    method: "post",
    path: `${ONE}/rotate`,
    operationId: "rotateBiKey",
    summary: "Give a BI key a new secret",
    description:
      "The old secret stops working at once. The answer shows the new one, `key`, this once.",
    request: id,
    responses: {
      200: { description: "The key, with its new secret.", content: json(issuedBiKeySchema) },
      ...errorsOfOne,
    },
  },
} satisfies Readonly<Record<string, RouteDefinition<"caller">>>;
