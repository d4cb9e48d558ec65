import type { ServiceTokenCaller } from "../../core/callers/caller.ts";
import { SERVICE_SCOPES } from "../../core/callers/service-scope.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { serviceTokens } from "../../db/tables/service-tokens.ts";
import type { users } from "../../db/tables/users.ts";
import { IpRanges } from "../../lib/egress/ip-ranges.ts";

/** A row of `service_tokens` with the fields of its maker that its use needs. */
export interface ServiceTokenRow {
  readonly token: typeof serviceTokens.$inferSelect;
  readonly role: (typeof users.$inferSelect)["role"];
  readonly state: (typeof users.$inferSelect)["state"];
}

/** A service token as it is held in memory. */
export interface KnownToken {
  readonly caller: ServiceTokenCaller;
  /** True while its maker is an active administrator: a token never has more rights than its maker has now. */
  readonly isActive: boolean;
  /** Unix milliseconds; null means that it never expires. */
  readonly expiresAt: number | null;
  /** The addresses from which it may be used; null allows any. */
  readonly ipAllow: IpRanges | null;
}

export function toKnownToken({ token, role, state }: ServiceTokenRow): KnownToken {
  // A scope of a later release means nothing here.
  const scopes = SERVICE_SCOPES.filter((scope) => token.scopes.includes(scope));
  return {
    caller: {
      kind: "service_token",
      tokenId: token.id,
      tokenName: token.name,
      ownerId: token.createdBy,
      role: "admin",
      scopes: new Set(scopes),
    },
    isActive: role === "admin" && state === "active",
    expiresAt: token.expiresAt === null ? null : token.expiresAt.getTime(),
    ipAllow: token.ipAllow.length > 0 ? new IpRanges(token.ipAllow) : null,
  };
}

/** Returns the error for every text that is no valid token, so that it does not reveal why. */
export function unusableServiceToken(): ServiceError {
  return new ServiceError(
    "invalid_api_key",
    "The service token is unknown, deleted or expired, or its maker is no longer an active administrator. " +
      "An administrator makes another one with POST /api/service-tokens.",
  );
}
