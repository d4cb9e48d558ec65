import type {
  NewServiceToken,
  ServiceScope,
  ServiceToken,
} from "../../api/queries/service-tokens.ts";
import { splitList } from "../../lib/split-list.ts";

/** A token's fields as a form holds them. */
export interface TokenDraft {
  readonly name: string;
  readonly scopes: readonly string[];
  /** One a line. */
  readonly addresses: string;
  /** RFC 3339 or null for never. */
  readonly expiresAt: string | null;
}

export const NEW_TOKEN: TokenDraft = { name: "", scopes: [], addresses: "", expiresAt: null };

/** What each scope opens. A scope that the API gains or loses is an error here. */
const MEANINGS: Readonly<Record<ServiceScope, string>> = {
  "audit:read": "Read the audit log and the statements of BI keys",
  "backup:create": "Make a backup of the whole installation, with all its secrets",
  "connections:read": "Read the database connections",
  "connections:write": "Add, test, change and delete database connections",
  "datasets:read": "Read datasets and their rows",
  "datasets:write": "Create, import, change and delete datasets",
  "events:read": "Read events and their deliveries",
  "events:write": "Send events again",
  "keys:read": "Read API keys, BI keys and their usage",
  "keys:write": "Issue, change, rotate and delete API keys and BI keys",
  "license:read": "Read the license and the device id",
  "license:write": "Upload a license",
  "mcp_servers:read": "Read the tool servers and their tools",
  "mcp_servers:write": "Add, approve, change and delete tool servers",
  "requests:read": "Read the list of requests",
  "usage:read": "Read usage reports",
  "usage:write": "Rebuild sums of usage that differ from the rows",
  "users:read": "Read users and their identities",
  "users:write": "Create, change and delete users",
  "watched_folders:read": "Read the watched folders",
  "workflows:read": "Read workflows and runs",
  "workflows:run": "Run and stop workflows",
  "workflows:write": "Create, change and delete workflows",
};

export const SCOPES = Object.entries(MEANINGS).map(([scope, meaning]) => ({ scope, meaning }));

export function toDraft(token: ServiceToken): TokenDraft {
  return {
    name: token.name,
    scopes: token.scopes,
    addresses: token.ip_allow.join("\n"),
    expiresAt: token.expires_at,
  };
}

/** Returns the fields as the API names them. */
export function toFields(draft: TokenDraft): NewServiceToken {
  return {
    name: draft.name,
    // The server judges a scope of another release.
    scopes: draft.scopes as ServiceScope[],
    ip_allow: splitList(draft.addresses),
    expires_at: draft.expiresAt,
  };
}
