import type { Actor } from "../access/actor.ts";
import { type AuditEntry, recordAudit } from "../access/audit/record-audit.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../lib/log.ts";
import type { Tool, ToolContext } from "./tool.ts";
import type { ToolOutcome } from "./tool-figures.ts";
import { TRIAL_ID } from "./trial-assistant.ts";

/** Records how an audited call ended. Does not wait and never throws. */
export type EndAudit = (outcome: ToolOutcome) => void;

/**
 * Resolves when the audit log has the call, which may then run. Rejects with `storage_unavailable` when it cannot be
 * written; the call must not run then.
 */
export type AuditCall = (tool: Tool, context: ToolContext) => Promise<EndAudit>;

export interface CallAudit {
  readonly audit: AuditCall;
  /** Resolves when the ends of all calls so far are written, or have failed to be. */
  readonly settle: () => Promise<void>;
}

type Details = NonNullable<AuditEntry["details"]>;

/**
 * Writes calls of tools into the audit log, without their arguments and results: `tool.call` before the tool runs, and
 * `tool.finish` with the outcome after it. The log is append-only, so the outcome is an entry of its own; no answer
 * waits for it.
 */
export function createCallAudit(database: Pick<Database, "ask">, log: Log): CallAudit {
  const pending = new Set<Promise<void>>();
  const write = (tool: Tool, context: ToolContext, action: string, details: Details) => {
    const entry = { action, targetKind: "tool", targetId: tool.name, details } as const;
    return database.ask((db) => recordAudit(db, actorOf(context), entry));
  };
  return {
    async audit(tool, context) {
      const { id } = context.assistant;
      const details = { ...(id !== TRIAL_ID && { assistant_id: id }), level: tool.level };
      await write(tool, context, "tool.call", details).catch((thrown: unknown) => {
        throw notRecorded(thrown);
      });
      return (outcome) => {
        const ending = write(tool, context, "tool.finish", { ...details, outcome }).catch(
          (error: unknown) => {
            const of = { error, tool: tool.name, outcome, requestId: context.origin?.requestId };
            log.warn(of, "the audit log has the call of a tool, but its outcome was not written");
          },
        );
        pending.add(ending);
        void ending.then(() => pending.delete(ending));
      };
    },
    async settle() {
      await Promise.all(pending);
    },
  };
}

function actorOf({ caller, origin }: ToolContext): Actor {
  return { caller, address: origin?.address ?? null, requestId: origin?.requestId ?? "" };
}

function notRecorded(cause: unknown): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "it was not run, because the audit log cannot record it now. Try again later.",
    { cause },
  );
}
