import { getTableColumns } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import { biKeys } from "../../db/tables/bi-keys.ts";
import { randomBase62 } from "../../lib/id.ts";

const { keyHash: _, ...columns } = getTableColumns(biKeys);

/** What may be known of a BI key: all but the hash of its secret. */
export const BI_KEY_COLUMNS = columns;
export type BiKey = Omit<typeof biKeys.$inferSelect, "keyHash">;

/** What an administrator decides of one. */
export type BiKeyFields = Pick<BiKey, "name" | "state" | "datasets" | "ipAllow" | "expiresAt">;
/** Those of them that are to be set. */
export type BiKeyPatch = { readonly [Name in keyof BiKeyFields]?: BiKeyFields[Name] | undefined };

/** A key with its secret, to be shown once. */
export interface IssuedBiKey {
  readonly key: BiKey;
  /** `bk-` and 43 base62 characters, 256 bits. */
  readonly text: string;
}

const RANDOM_LENGTH = 43;

export function newBiKeyText(): string {
  return `bk-${randomBase62(RANDOM_LENGTH)}`;
}

export function unknownBiKey(): ServiceError {
  return new ServiceError("not_found", "There is no BI key of this id; see GET /v1/bi-keys.");
}
