import type { KeyCaller, Role } from "../../../core/callers/caller.ts";
import type { apiKeys, ToolScope } from "../../../db/tables/api-keys.ts";
import { IpRanges } from "../../../lib/egress/ip-ranges.ts";
import { keyLimitsOf, personLimitsOf } from "./key-limits.ts";

/** A row of `api_keys` with the fields of the owner that its use needs. */
export type ApiKeyRow = typeof apiKeys.$inferSelect & {
  readonly ownerRole: Role;
  readonly isOwnerDisabled: boolean;
  readonly ownerMonthlyTokenLimit: number | null;
  readonly ownerRpmLimit: number | null;
};

/** A key as it is held in memory: immutable, and replaced when it changes. */
export interface ApiKey {
  readonly caller: KeyCaller;
  readonly keyHash: string;
  /** The secret before the last rotation, while it is valid. */
  readonly previous: PreviousSecret | null;
  /** True when both the key and its owner are active. */
  readonly isActive: boolean;
  /** Unix milliseconds; null means that it never expires. */
  readonly expiresAt: number | null;
  /** The addresses from which it may be used; null allows any. */
  readonly ipAllow: IpRanges | null;
  readonly changeSeq: number;
}

/** Whether calls with a key are accepted now. */
export function isUsable({ isActive, expiresAt }: ApiKey, now: number): boolean {
  return isActive && (expiresAt === null || expiresAt > now);
}

interface PreviousSecret {
  readonly keyHash: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** The usual scopes, shared by the many keys that have them, because 100,000 keys are held. */
const USUAL_SCOPES: readonly ToolScope[] = [
  { tools: [], sql_connections: [] },
  { tools: ["*"], sql_connections: ["*"] },
];

export function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    caller: callerOf(row),
    keyHash: row.keyHash,
    previous: previousOf(row),
    isActive: row.state === "active" && !row.isOwnerDisabled,
    expiresAt: row.expiresAt === null ? null : row.expiresAt.getTime(),
    ipAllow: row.ipAllow.length > 0 ? new IpRanges(row.ipAllow) : null,
    changeSeq: row.changeSeq,
  };
}

function previousOf({ previousKeyHash, previousExpiresAt }: ApiKeyRow): PreviousSecret | null {
  return previousKeyHash === null || previousExpiresAt === null
    ? null
    : { keyHash: previousKeyHash, expiresAt: previousExpiresAt.getTime() };
}

function callerOf(row: ApiKeyRow): KeyCaller {
  const limits = keyLimitsOf(row);
  return {
    kind: "key",
    keyId: row.id,
    ownerId: row.ownerId,
    role: row.ownerRole,
    assistantId: row.assistantId,
    passthrough: row.passthrough,
    maxLevel: row.maxLevel,
    toolScope: sharedScope(row.toolScope),
    limits,
    personLimits: personLimitsOf({
      monthlyTokenLimit: row.ownerMonthlyTokenLimit,
      rpmLimit: row.ownerRpmLimit,
    }),
    isRestricted:
      limits !== null ||
      row.expiresAt !== null ||
      row.ipAllow.length > 0 ||
      row.assistantId !== null,
  };
}

function sharedScope(scope: ToolScope): ToolScope {
  const { tools, sql_connections: connections } = scope;
  const [tool, connection] = [tools.join(), connections.join()];
  const isSame = (usual: ToolScope) =>
    usual.tools.join() === tool && usual.sql_connections.join() === connection;
  return USUAL_SCOPES.find(isSame) ?? scope;
}
