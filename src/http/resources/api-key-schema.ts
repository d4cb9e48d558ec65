import { z } from "@hono/zod-openapi";
import type { ApiKeyPatch, ApiKeyRecord } from "../../access/keys/api-key-record.ts";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { JsonObject } from "../../lib/json.ts";
import { expiryOf, keyExpiry, keyIpAllow, keyName, keyState, printableName } from "./key-fields.ts";

const MAX_SCOPE_NAMES = 256;

const limit = (what: string) =>
  z
    .int()
    .min(0)
    .nullable()
    .openapi({ description: `${what} 0 refuses every metered call, null is unlimited.` });

const scopeNames = z.array(printableName).max(MAX_SCOPE_NAMES);

const changeable = {
  name: keyName,
  state: keyState,
  assistant_id: z
    .string()
    .regex(/^asst_[A-Za-z0-9_-]{1,64}$/, "the id of an assistant, asst_ and its characters")
    .nullable()
    .openapi({
      description:
        "The one assistant that the key may call; nothing else answers such a key. Null binds it to none.",
    }),
  passthrough: z.boolean().openapi({
    description:
      "The client's messages and tools reach the model unchanged, as coding agents need.",
  }),
  max_level: z
    .enum(["read_only", "write", "full_auto"])
    .openapi({ description: "What tools that are called with the key may do at most." }),
  tool_scope: z
    .strictObject({ tools: scopeNames.optional(), sql_connections: scopeNames.optional() })
    .openapi({
      description:
        "Tools and saved connections that the key's assistant may use; set as a whole, empty names none.",
    }),
  monthly_token_limit: limit("Input and output tokens in a calendar month of UTC."),
  request_limit: limit("Calls over the key's life."),
  rpm_limit: limit("Calls in any 60 seconds."),
  token_limit: limit("Input and output tokens over the key's life."),
  ip_allow: keyIpAllow,
  expires_at: keyExpiry,
};
const { name, ...atWill } = changeable;

/** What a new key is asked for with. */
export const newApiKeySchema = z
  .strictObject({
    name,
    owner_id: z
      .string()
      .max(100)
      .regex(/^[^\0]*$/, "a text without NUL")
      .optional()
      .openapi({ description: "Whose it is to be, for administrators; unset is the caller." }),
    ...z.object(atWill).partial().shape,
  })
  .openapi("NewApiKey", {
    example: { name: "chat front end", monthly_token_limit: 5_000_000, rpm_limit: 60 },
  });

/** What may be changed of one. */
export const apiKeyChangeSchema = z
  .strictObject(z.object(changeable).partial().shape)
  .openapi("ApiKeyChange", { example: { rpm_limit: 120, monthly_token_limit: null } });

/** How long the secret that is replaced goes on working. */
export const rotationSchema = z
  .strictObject({
    overlap_seconds: z.int().min(0).max(2_592_000).optional().openapi({
      description:
        "How long the replaced secret goes on working, up to 30 days; 0, the default, ends it at once.",
    }),
  })
  .openapi("ApiKeyRotation", { example: { overlap_seconds: 3_600 } });

const time = z.string().openapi({ format: "date-time" });

const EXAMPLE = {
  id: "key_3v9QmTq2LxZ8cR5nYb7KdW",
  object: "api_key",
  name: "chat front end",
  prefix: "sk-",
  last_four: "q7Zf",
  owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
  state: "active",
  assistant_id: null,
  passthrough: false,
  max_level: "read_only",
  tool_scope: { tools: [], sql_connections: [] },
  monthly_token_limit: 5_000_000,
  request_limit: null,
  rpm_limit: 60,
  token_limit: null,
  ip_allow: [],
  expires_at: null,
  created_at: "2026-09-21T13:33:20.000Z",
  last_used_at: null,
};

/** A key as it is shown. */
export const apiKeySchema = z
  .object({
    id: z.string(),
    object: z.literal("api_key"),
    name,
    prefix: z.literal("sk-"),
    last_four: z.string().openapi({ description: "The end of its secret." }),
    owner_id: z.string(),
    ...atWill,
    created_at: time,
    last_used_at: time
      .nullable()
      .openapi({ description: "When a call was last let in with it, seconds late at most." }),
  })
  .openapi("ApiKey", { example: EXAMPLE });

/** One that was just made or rotated, with its secret. */
export const issuedApiKeySchema = apiKeySchema
  .extend({ key: z.string().openapi({ description: "The secret. It is shown this once." }) })
  .openapi("IssuedApiKey", {
    example: { ...EXAMPLE, key: `sk-${"x".repeat(39)}${EXAMPLE.last_four}` },
  });

type Change = z.infer<typeof apiKeyChangeSchema>;

/** What a checked body sets. Throws `invalid_value` for an expiry that is not to come, and for a body that sets nothing. */
export function apiKeyFieldsOf(body: Change, now: number): ApiKeyPatch {
  if (Object.keys(body).length === 0) throw invalidValue([], "a field to change", body);
  const { tool_scope: scope, expires_at: expiresAt } = body;
  return {
    name: body.name,
    state: body.state,
    assistantId: body.assistant_id,
    passthrough: body.passthrough,
    maxLevel: body.max_level,
    toolScope: scope && {
      tools: scope.tools ?? [],
      sql_connections: scope.sql_connections ?? [],
    },
    monthlyTokenLimit: body.monthly_token_limit,
    requestLimit: body.request_limit,
    rpmLimit: body.rpm_limit,
    tokenLimit: body.token_limit,
    ipAllow: body.ip_allow,
    expiresAt: expiresAt === undefined ? undefined : expiryOf(expiresAt, now),
  };
}

/** A key as JSON. */
export function apiKeyJson(key: ApiKeyRecord): JsonObject {
  return {
    id: key.id,
    object: "api_key",
    name: key.name,
    prefix: "sk-",
    last_four: key.lastFour,
    owner_id: key.ownerId,
    state: key.state,
    assistant_id: key.assistantId,
    passthrough: key.passthrough,
    max_level: key.maxLevel,
    tool_scope: { ...key.toolScope },
    monthly_token_limit: key.monthlyTokenLimit,
    request_limit: key.requestLimit,
    rpm_limit: key.rpmLimit,
    token_limit: key.tokenLimit,
    ip_allow: key.ipAllow,
    expires_at: key.expiresAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}
