import { z } from "@hono/zod-openapi";
import type { BiKey, BiKeyPatch } from "../../access/bi-keys/bi-keys.ts";
import type { JsonObject } from "../../lib/json.ts";
import { expiryOf, keyExpiry, keyIpAllow, keyName, keyState } from "./key-fields.ts";

const MAX_DATASETS = 100;
const DATASET = /^[a-z][a-z0-9_]{0,62}$/;

const datasets = z
  .array(z.string().regex(DATASET, "a name of a-z, 0-9 and _, a letter first, up to 63 characters"))
  .max(MAX_DATASETS)
  .refine((names) => new Set(names).size === names.length, "each name once")
  .openapi({
    description: "Names of the datasets that it may read; empty reads none.",
    example: ["orders", "customers"],
  });

const changeable = {
  name: keyName,
  state: keyState,
  datasets,
  ip_allow: keyIpAllow,
  expires_at: keyExpiry,
};
const { name, state: _, ...atWill } = changeable;

/** What a new BI key is asked for with. */
export const newBiKeySchema = z
  .strictObject({ name, ...z.object(atWill).partial().shape })
  .openapi("NewBiKey", { example: { name: "monthly report", datasets: ["orders"] } });

/** What may be changed of one. */
export const biKeyChangeSchema = z
  .strictObject(z.object(changeable).partial().shape)
  .openapi("BiKeyChange", { example: { datasets: ["orders", "customers"] } });

const time = z.string().openapi({ format: "date-time" });

const EXAMPLE = {
  id: "bik_3v9QmTq2LxZ8cR5nYb7KdW",
  object: "bi_key",
  name: "monthly report",
  state: "active",
  datasets: ["orders"],
  ip_allow: [],
  expires_at: null,
  prefix: "bk-",
  last_four: "q7Zf",
  owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
  created_at: "2026-09-21T13:33:20.000Z",
  last_used_at: null,
};

/** A BI key as it is shown. */
export const biKeySchema = z
  .object({
    id: z.string(),
    object: z.literal("bi_key"),
    ...changeable,
    prefix: z.literal("bk-"),
    last_four: z.string().openapi({ description: "The end of its secret." }),
    owner_id: z.string(),
    created_at: time,
    last_used_at: time.nullable(),
  })
  .openapi("BiKey", { example: EXAMPLE });

/** One that was just made or rotated, with its secret. */
export const issuedBiKeySchema = biKeySchema
  .extend({ key: z.string().openapi({ description: "The secret. It is shown this once." }) })
  .openapi("IssuedBiKey", {
    example: { ...EXAMPLE, key: `bk-${"x".repeat(39)}${EXAMPLE.last_four}` },
  });

/** What a checked body sets. Throws `invalid_value` for an expiry that is not to come. */
export function biKeyFieldsOf(body: z.infer<typeof biKeyChangeSchema>, now: number): BiKeyPatch {
  const { name, state, datasets, ip_allow: ipAllow, expires_at: expiresAt } = body;
  return {
    name,
    state,
    datasets,
    ipAllow,
    expiresAt: expiresAt === undefined ? undefined : expiryOf(expiresAt, now),
  };
}

/** A BI key as JSON. */
export function biKeyJson(key: BiKey): JsonObject {
  return {
    id: key.id,
    object: "bi_key",
    name: key.name,
    prefix: "bk-",
    last_four: key.lastFour,
    state: key.state,
    owner_id: key.ownerId,
    datasets: key.datasets,
    ip_allow: key.ipAllow,
    expires_at: key.expiresAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}
