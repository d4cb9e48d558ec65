import type { Caller } from "../core/caller.ts";
import type { apiKeys, ToolScope } from "../db/tables/api-keys.ts";

/** A row of `api_keys` as the verbs and the cache exchange it. */
export type ApiKeyRow = typeof apiKeys.$inferSelect;

/** Limits of a key; null is unlimited, 0 refuses. */
interface ApiKeyLimits {
  readonly monthlyTokens: number | null;
  readonly requests: number | null;
  readonly requestsPerMinute: number | null;
  readonly tokens: number | null;
}

/** A key as it is held in memory: immutable, replaced when it changes. */
export interface ApiKey {
  readonly caller: Caller;
  readonly isActive: boolean;
  /** Unix milliseconds; null never expires. */
  readonly expiresAt: number | null;
  readonly assistantId: string | null;
  readonly maxLevel: ApiKeyRow["maxLevel"];
  readonly toolScope: ToolScope;
  readonly limits: ApiKeyLimits;
  /** Addresses and ranges; empty allows any. */
  readonly ipAllow: readonly string[];
  readonly changeSeq: number;
}

/** Shared by the many keys that have nothing of the kind: 100,000 keys are held. */
const UNLIMITED: ApiKeyLimits = {
  monthlyTokens: null,
  requests: null,
  requestsPerMinute: null,
  tokens: null,
};
const NO_TOOLS: ToolScope = { tools: [], sql_connections: [] };
const ANY_ADDRESS: readonly string[] = [];

export function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    caller: { kind: "key", keyId: row.id, ownerId: row.ownerId, passthrough: row.passthrough },
    isActive: row.state === "active",
    expiresAt: row.expiresAt === null ? null : row.expiresAt.getTime(),
    assistantId: row.assistantId,
    maxLevel: row.maxLevel,
    toolScope: hasTools(row.toolScope) ? row.toolScope : NO_TOOLS,
    limits: limitsOf(row),
    ipAllow: row.ipAllow.length > 0 ? row.ipAllow : ANY_ADDRESS,
    changeSeq: row.changeSeq,
  };
}

function hasTools({ tools, sql_connections: connections }: ToolScope): boolean {
  return tools.length > 0 || connections.length > 0;
}

function limitsOf(row: ApiKeyRow): ApiKeyLimits {
  const limits = {
    monthlyTokens: row.monthlyTokenLimit,
    requests: row.requestLimit,
    requestsPerMinute: row.rpmLimit,
    tokens: row.tokenLimit,
  };
  return Object.values(limits).every((limit) => limit === null) ? UNLIMITED : limits;
}
