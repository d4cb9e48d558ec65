import type { ApiKey, ApiKeyChange, NewApiKey } from "../../api/queries/api-keys.ts";
import { changedFields } from "../../lib/changed-fields.ts";
import { splitList } from "../../lib/split-list.ts";

/** A key's fields as a form holds them. */
export interface KeyDraft {
  readonly name: string;
  readonly monthlyTokens: number | null;
  readonly tokens: number | null;
  readonly requests: number | null;
  readonly rpm: number | null;
  /** RFC 3339 or null for never. */
  readonly expiresAt: string | null;
  /** One a line. */
  readonly addresses: string;
  readonly level: ApiKey["max_level"];
  readonly isPassthrough: boolean;
}

export const NEW_KEY: KeyDraft = {
  name: "",
  monthlyTokens: null,
  tokens: null,
  requests: null,
  rpm: null,
  expiresAt: null,
  addresses: "",
  level: "read_only",
  isPassthrough: false,
};

export function toDraft(key: ApiKey): KeyDraft {
  return {
    name: key.name,
    monthlyTokens: key.monthly_token_limit,
    tokens: key.token_limit,
    requests: key.request_limit,
    rpm: key.rpm_limit,
    expiresAt: key.expires_at,
    addresses: key.ip_allow.join("\n"),
    level: key.max_level,
    isPassthrough: key.passthrough,
  };
}

/** Returns the fields in which a draft differs from another, as the API names them. */
export function changesOf(draft: KeyDraft, from: KeyDraft): ApiKeyChange {
  return changedFields(toFields(draft), toFields(from));
}

/** Returns a new key: what is as the server has it anyway is left out. */
export function toNewKey(draft: KeyDraft, ownerId: string): NewApiKey {
  const owner = ownerId === "" ? {} : { owner_id: ownerId };
  return { ...changesOf(draft, NEW_KEY), name: draft.name, ...owner };
}

function toFields(draft: KeyDraft) {
  return {
    name: draft.name,
    monthly_token_limit: draft.monthlyTokens,
    token_limit: draft.tokens,
    request_limit: draft.requests,
    rpm_limit: draft.rpm,
    expires_at: draft.expiresAt,
    ip_allow: splitList(draft.addresses),
    max_level: draft.level,
    passthrough: draft.isPassthrough,
  };
}
