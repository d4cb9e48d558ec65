import type { Database } from "../db/database.ts";
import type { SecretBox } from "../lib/secret-box.ts";

/** Secrets of users, sealed in the database; never shown again. */
export interface WorkflowSecrets {
  /** The secret of this name of a workflow's owner; undefined when there is none, or it cannot be opened. */
  readonly read: (ownerId: string, name: string) => Promise<string | undefined>;
  readonly exists: (ownerId: string, name: string) => Promise<boolean>;
}

export interface SecretParts {
  readonly database: Database;
  readonly secretBox: SecretBox;
}

export function createWorkflowSecrets(_parts: SecretParts): WorkflowSecrets {
  return { read: async () => undefined, exists: async () => false };
}
