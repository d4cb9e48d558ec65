import { getTableColumns } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";

const {
  keyHash: _hash,
  previousKeyHash: _previousHash,
  previousExpiresAt: _previousExpiresAt,
  changeSeq: _changeSeq,
  ...columns
} = getTableColumns(apiKeys);

/** What may be known of an API key: all but its secrets. */
export const API_KEY_COLUMNS = columns;
export type ApiKeyRecord = Omit<
  typeof apiKeys.$inferSelect,
  "keyHash" | "previousKeyHash" | "previousExpiresAt" | "changeSeq"
>;

/** What its owner decides of one. */
export type ApiKeyFields = Pick<
  ApiKeyRecord,
  | "name"
  | "state"
  | "assistantId"
  | "passthrough"
  | "maxLevel"
  | "toolScope"
  | "monthlyTokenLimit"
  | "requestLimit"
  | "rpmLimit"
  | "tokenLimit"
  | "ipAllow"
  | "expiresAt"
>;
/** Those of them that are to be set. */
export type ApiKeyPatch = {
  readonly [Name in keyof ApiKeyFields]?: ApiKeyFields[Name] | undefined;
};

/** A key with its secret, to be shown once. */
export interface IssuedApiKey {
  readonly key: ApiKeyRecord;
  /** `sk-` and 43 base62 characters. */
  readonly text: string;
}

/** Whether it exists is nobody's business who may not see it. */
export function unknownApiKey(): ServiceError {
  return new ServiceError("not_found", "There is no API key of this id; see GET /v1/api-keys.");
}
