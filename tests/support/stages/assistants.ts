import type { Caller, KeyCaller, SessionCaller } from "../../../src/core/callers/caller.ts";
import type { Assistant } from "../../../src/knowledge/assistants/assistant.ts";
import { NEW_ASSISTANT } from "../../../src/knowledge/assistants/assistant-record.ts";

/** An assistant with everything at its default. Its slug and owner are made from the number. */
export function testAssistant(number: number, change: Partial<Assistant> = {}): Assistant {
  return {
    ...NEW_ASSISTANT,
    id: `asst_${String(number).padStart(22, "A")}`,
    ownerId: "usr_owner",
    slug: `assistant-${number}`,
    createdAt: new Date(0),
    ...change,
  };
}

/** A call with a key of this owner, unbound unless an assistant is given. */
export function keyCaller(ownerId: string, assistantId: string | null = null): KeyCaller {
  return {
    kind: "key",
    keyId: `key_of_${ownerId}`,
    ownerId,
    role: "user",
    assistantId,
    passthrough: false,
    maxLevel: "read_only",
    toolScope: { tools: ["*"], sql_connections: ["*"] },
    limits: null,
    isRestricted: assistantId !== null,
  };
}

/** A call of a user's session. */
export function sessionCaller(ownerId: string, role: Caller["role"] = "user"): SessionCaller {
  return {
    kind: "session",
    sessionId: "ses_1",
    ownerId,
    username: ownerId,
    role,
    mustChangePassword: false,
    passthrough: false,
  };
}
