import type { BiKeyCaller } from "../../../core/callers/caller.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { biKeys } from "../../../db/tables/bi-keys.ts";
import type { users } from "../../../db/tables/users.ts";
import { IpRanges } from "../../../lib/egress/ip-ranges.ts";

/** A row of `bi_keys` with the fields of its owner that its use needs. */
export interface BiKeyRow {
  readonly key: typeof biKeys.$inferSelect;
  readonly role: (typeof users.$inferSelect)["role"];
  readonly state: (typeof users.$inferSelect)["state"];
}

/** A BI key as it is held in memory: immutable, and replaced when something that decides its use changes. */
export interface KnownBiKey {
  readonly id: string;
  readonly name: string;
  readonly caller: BiKeyCaller;
  /** True while the key is active and its owner is an active administrator, as with service tokens. */
  readonly isActive: boolean;
  /** Unix milliseconds; null means that it never expires. */
  readonly expiresAt: number | null;
  /** The addresses from which it may be used; null allows any. */
  readonly ipAllow: IpRanges | null;
  /** Names of the views that it may read; "all" includes those to come. */
  readonly views: ReadonlySet<string> | "all";
  /** Rows that one statement may bring. */
  readonly rowLimit: number;
  /** Seconds that one statement may take. */
  readonly timeoutSeconds: number;
  /** Connections to the PostgreSQL port at once. */
  readonly maxConnections: number;
  /** Differs once anything changed that decides what the key opens: its use and its name do not count. */
  readonly mark: string;
}

/** Every key's secret: `bk-` and 43 base62 characters. */
export const BI_KEY = /^bk-[A-Za-z0-9]{43}$/;
/** In `datasets`, for all views. */
export const ALL_VIEWS = "*";

export function toKnownBiKey({ key, role, state }: BiKeyRow): KnownBiKey {
  const { id, name, ownerId, datasets, ipAllow, rowLimit, timeoutSeconds, maxConnections } = key;
  const isActive = key.state === "active" && role === "admin" && state === "active";
  const expiresAt = key.expiresAt === null ? null : key.expiresAt.getTime();
  const limits = { rowLimit, timeoutSeconds, maxConnections };
  return {
    id,
    name,
    caller: { kind: "bi_key", keyId: id, keyName: name, ownerId },
    isActive,
    expiresAt,
    ipAllow: ipAllow.length > 0 ? new IpRanges(ipAllow) : null,
    views: datasets.includes(ALL_VIEWS) ? "all" : new Set(datasets),
    ...limits,
    mark: JSON.stringify([key.keyHash, isActive, expiresAt, ipAllow, datasets, limits]),
  };
}

/** Whether a key opens anything now. */
export function isUsableBiKey({ isActive, expiresAt }: KnownBiKey, now: number): boolean {
  return isActive && (expiresAt === null || expiresAt > now);
}

/** Returns the same error for every text that is no valid BI key, so that it does not reveal why. */
export function unusableBiKey(): ServiceError {
  return new ServiceError(
    "invalid_api_key",
    "The BI key is unknown, inactive, deleted or expired, or its owner is no longer an active administrator. " +
      "An administrator issues another one with POST /v1/bi-keys.",
  );
}
