import type { AnyCaller } from "../../core/callers/caller.ts";
import { coversName } from "../../core/name-patterns.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { AdminSet } from "../../db/tables/api-keys.ts";
import { IpRanges } from "../../lib/egress/ip-ranges.ts";
import type { ApiKeyPatch } from "./api-key-record.ts";
import { isAbove, NEW_KEY_RIGHTS } from "./refuse-more-rights.ts";

interface Rule<Value> {
  /** The field's name for clients. */
  readonly param: string;
  /** Returns whether the value grants more than the administrator's value. */
  readonly exceeds: (value: Value, most: Value) => boolean;
}

type Rules = { readonly [Name in keyof AdminSet]-?: Rule<NonNullable<AdminSet[Name]> | null> };

const limit = (param: string): Rule<number | null> => ({
  param,
  exceeds: (value, most) => most !== null && (value === null || value > most),
});

/** The fields that an owner may lower but not raise. A null from an administrator is not a bound. */
const RULES: Rules = {
  monthlyTokenLimit: limit("monthly_token_limit"),
  requestLimit: limit("request_limit"),
  rpmLimit: limit("rpm_limit"),
  tokenLimit: limit("token_limit"),
  state: { param: "state", exceeds: (value, most) => most === "inactive" && value !== most },
  assistantId: { param: "assistant_id", exceeds: (value, most) => most !== null && value !== most },
  passthrough: { param: "passthrough", exceeds: (value, most) => value === true && most === false },
  maxLevel: {
    param: "max_level",
    exceeds: (value, most) => value !== null && most !== null && isAbove(value, most),
  },
  toolScope: {
    param: "tool_scope",
    exceeds: (value, most) =>
      (["tools", "sql_connections"] as const).some((kind) =>
        value?.[kind].some((name) => most !== null && !coversName(most[kind], name)),
      ),
  },
  ipAllow: {
    param: "ip_allow",
    exceeds(value, most) {
      if (most === null || most.length === 0) return false;
      const allowed = new IpRanges(most);
      // An empty list allows any address.
      return !value?.length || value.some((range) => !allowed.covers(range));
    },
  },
  expiresAt: {
    param: "expires_at",
    exceeds: (value, most) => most !== null && (value === null || value > most),
  },
};

const FIELDS = Object.keys(RULES) as (keyof AdminSet)[];
/** The names by which clients and the audit log have these fields. */
export const BOUND_PARAMS: readonly string[] = FIELDS.map((field) => RULES[field].param);

/**
 * Refuses an owner without the administrator role who grants a key more than an administrator did. Without an
 * administrator's level the bound is `read_only`. Throws `insufficient_permission` that names the field.
 * `refuseMoreRights` decides what a key may grant to keys.
 *
 * @param given are the changes.
 */
export function refuseRaise(caller: AnyCaller, given: ApiKeyPatch, adminSet: AdminSet = {}): void {
  if (caller.role === "admin") return;
  const bounds =
    caller.kind === "session" ? { maxLevel: NEW_KEY_RIGHTS.maxLevel, ...adminSet } : adminSet;
  const values = boundedFields(given);
  for (const field of FIELDS) {
    if (isRaised(field, values, bounds)) throw raised(RULES[field].param);
  }
}

/**
 * Throws `insufficient_permission` for a service token's change that grants a key more than it has, where a person set
 * the key's bounds.
 */
export function refuseWidening(given: ApiKeyPatch, had: ApiKeyPatch): void {
  const [values, bounds] = [boundedFields(given), boundedFields(had)];
  for (const field of FIELDS) {
    if (isRaised(field, values, bounds)) throw widened(RULES[field].param);
  }
}

/** Returns the bounds for the key's owner from now on: the administrator's new values over the earlier ones. */
export function withAdminSet(
  caller: AnyCaller,
  given: ApiKeyPatch,
  before: AdminSet = {},
): AdminSet {
  return caller.role === "admin" ? { ...before, ...boundedFields(given) } : before;
}

/** Returns the bounds of a new key. For an administrator, rights that are not given are bounds too. */
export function adminSetOfNewKey(caller: AnyCaller, given: ApiKeyPatch): AdminSet {
  return withAdminSet(caller, given, caller.role === "admin" ? NEW_KEY_RIGHTS : {});
}

function isRaised(field: keyof AdminSet, values: AdminSet, bounds: AdminSet): boolean {
  const value = values[field];
  const most = bounds[field];
  if (value === undefined || most === undefined) return false;
  const { exceeds } = RULES[field] as Rule<typeof value>;
  return exceeds(value, most);
}

/** Returns the given fields that can be bounds, in their stored form. */
function boundedFields(given: ApiKeyPatch): AdminSet {
  const { expiresAt } = given;
  const stored = {
    ...given,
    expiresAt: expiresAt === undefined ? undefined : (expiresAt?.toISOString() ?? null),
  };
  const fields = FIELDS.filter((field) => stored[field] !== undefined);
  return Object.fromEntries(fields.map((field) => [field, stored[field]]));
}

function raised(param: string): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    `The owner of a key may lower its ${param}, and may not raise it above what an administrator set ` +
      "(max_level: read_only unless one set more). Ask an administrator.",
    { param },
  );
}

function widened(param: string): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    `A person set the bounds of this key, so a service token may lower its ${param} only. Use the session of an administrator.`,
    { param },
  );
}
