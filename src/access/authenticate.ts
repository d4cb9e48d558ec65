import type { Caller } from "../core/caller.ts";
import { ServiceError } from "../core/service-error.ts";
import type { ApiKeys } from "./api-keys.ts";

/** Longer ones are refused unread. */
const CREDENTIAL_MAX_LENGTH = 512;
const KEY = /^sk-[\x21-\x7e]{17,}$/;
const BEARER = /^bearer +(sk-[\x21-\x7e]{17,})$/i;

/**
 * Who calls, by the key in `Authorization: Bearer` or `x-api-key`; the former wins when both are well formed.
 * Throws `invalid_api_key` without a known, active, unexpired key. Never waits.
 *
 * @param now Unix milliseconds.
 */
export function authenticate(headers: Headers, keys: Pick<ApiKeys, "find">, now: number): Caller {
  const keyText = bearerKey(headers) ?? plainKey(headers);
  if (keyText === undefined) {
    throw new ServiceError(
      "invalid_api_key",
      "No well-formed API key came with the call. Send it as `Authorization: Bearer sk-…` or as `x-api-key`.",
    );
  }
  const key = keys.find(keyText);
  const isExpired = key?.expiresAt != null && key.expiresAt <= now;
  if (key === undefined || !key.isActive || isExpired) {
    throw new ServiceError("invalid_api_key", "This API key is unknown here, inactive or expired.");
  }
  return key.caller;
}

function bearerKey(headers: Headers): string | undefined {
  const value = headers.get("authorization");
  if (value === null || value.length > CREDENTIAL_MAX_LENGTH) return undefined;
  const key = BEARER.exec(value)?.[1];
  // The scheme may be written in any case, the prefix may not.
  return key?.startsWith("sk-") ? key : undefined;
}

function plainKey(headers: Headers): string | undefined {
  const value = headers.get("x-api-key");
  if (value === null || value.length > CREDENTIAL_MAX_LENGTH) return undefined;
  return KEY.test(value) ? value : undefined;
}
