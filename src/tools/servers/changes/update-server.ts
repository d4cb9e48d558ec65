import { eq } from "drizzle-orm";
import type { AnyActor } from "../../../access/actor.ts";
import { auditDetails } from "../../../access/audit/record-audit.ts";
import { change } from "../../../access/change.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { Db } from "../../../db/context.ts";
import { mcpServers, mcpServerTools } from "../../../db/tables/mcp-servers.ts";
import type { ListedTool } from "../client/tool-server-client.ts";
import { readServer, readTools, writeList } from "../server-rows.ts";
import { addressOf, type ServerRow } from "../tool-server.ts";
import {
  type ShownServerWithTools,
  showWithTools,
  type ToolServers,
  throwUnknown,
} from "../tool-servers.ts";
import {
  addTools,
  checkDraft,
  readBack,
  type ServerFields,
  sealHeaders,
  serverFrame,
} from "./change-server.ts";
import { mergeList } from "./merge-list.ts";

/** The fields to change. The name stays: it is a part of the names of the tools, by which assistants and keys have them. */
export type ServerPatch = {
  readonly [Name in keyof Omit<ServerFields, "name">]?: ServerFields[Name] | undefined;
} & {
  /** Approves what the server lists at its new URL; otherwise that waits. */
  readonly approveTools?: boolean | undefined;
};

/**
 * Sets the given fields, and checks the server if it may answer differently then. At a new URL all tools wait for
 * approval. Rejects with `not_found`, with `changed_meanwhile`, with `invalid_value` for a URL of another origin without
 * headers, and with `insufficient_permission` for a service token that would approve tools.
 */
export async function updateToolServer(
  servers: ToolServers,
  actor: AnyActor,
  { id, given }: { readonly id: string; readonly given: ServerPatch },
): Promise<ShownServerWithTools> {
  if (given.approveTools === true) refuseApprovalByToken(actor);
  const before = (await servers.database.ask((db) => readServer(db, id))) ?? throwUnknown();
  const isMoved = given.url !== undefined && given.url !== before.url;
  if (isMoved) refuseForeignHeaders(before, given);
  else if (given.approveTools === true) throw nothingToApprove();
  const set = settingsOf(servers, id, given);
  const draft = servers.toServer({ ...before, ...set }, []);
  const mayDiffer = isMoved || given.headers !== undefined || draft.row.enabled !== before.enabled;
  const checked = mayDiffer ? await checkDraft(servers, draft) : undefined;
  const frame = serverFrame(servers, {
    verb: "update",
    id,
    ...(checked !== undefined && { onCommit: checked.record }),
  });
  const updated = await change(servers, actor, frame, async (transaction, changeSeq) => {
    const now = (await readServer(transaction, id)) ?? throwUnknown();
    if (addressOf(now) !== addressOf(before)) throw changedMeanwhile();
    const changed = changedFields(now, given);
    if (Object.keys(changed).length === 0) {
      return { result: await readBack(servers, transaction, id), details: null };
    }
    await transaction
      .update(mcpServers)
      .set({ ...set, changeSeq })
      .where(eq(mcpServers.id, id));
    const areApproved = given.approveTools === true;
    const list = { tools: checked?.tools, areApproved };
    const approved = isMoved ? await replaceTools(transaction, id, list) : undefined;
    if (!isMoved) await mergeTools(transaction, id, checked?.tools);
    return {
      result: await readBack(servers, transaction, id),
      details: auditDetails({ ...changed, ...(areApproved && { approved }) }),
    };
  });
  return showWithTools(updated, servers.healths);
}

/** Returns the columns to set. */
function settingsOf(servers: ToolServers, id: string, given: ServerPatch): Partial<ServerRow> {
  const { url, enabled, timeoutMs, headers } = given;
  return {
    ...(url !== undefined && { url }),
    ...(enabled !== undefined && { enabled }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(headers !== undefined && sealHeaders(servers, id, headers)),
  };
}

/** Returns what the audit log has of a change. New headers are a change, whatever the old ones are. */
function changedFields(now: ServerRow, { url, enabled, timeoutMs, headers }: ServerPatch) {
  return {
    ...(url !== undefined && url !== now.url && { url }),
    ...(enabled !== undefined && enabled !== now.enabled && { enabled }),
    ...(timeoutMs !== undefined && timeoutMs !== now.timeoutMs && { timeoutMs }),
    ...(headers !== undefined && { headerNames: Object.keys(headers).sort() }),
  };
}

/** What was approved and set for the tools of one address means nothing for those of another. */
async function replaceTools(
  transaction: Db,
  id: string,
  list: Parameters<typeof addTools>[2],
): Promise<readonly string[]> {
  await transaction.delete(mcpServerTools).where(eq(mcpServerTools.serverId, id));
  return addTools(transaction, id, list);
}

async function mergeTools(
  transaction: Db,
  id: string,
  tools: readonly ListedTool[] | undefined,
): Promise<void> {
  if (tools === undefined) return;
  const changes = mergeList(await readTools(transaction, id), tools);
  if (changes !== undefined) await writeList(transaction, id, changes);
}

/** Headers hold the secrets of one server. They are never sent to another one that an administrator only mistyped. */
function refuseForeignHeaders(before: ServerRow, { url = "", headers }: ServerPatch): void {
  if (headers !== undefined || before.headerNames.length === 0) return;
  if (new URL(url).origin === new URL(before.url).origin) return;
  throw new ServiceError(
    "invalid_value",
    "'headers' must be sent with a 'url' of another origin, because the secrets of one server are not sent to another; {} sends none.",
    { param: "headers" },
  );
}

function refuseApprovalByToken({ caller }: AnyActor): void {
  if (caller.kind !== "service_token") return;
  throw new ServiceError(
    "insufficient_permission",
    "A service token approves no tools; a person does, with POST /api/mcp-servers/{id}/approve.",
    { param: "approve_tools" },
  );
}

function nothingToApprove(): ServiceError {
  return new ServiceError(
    "invalid_value",
    "'approve_tools' goes with another 'url' only; POST /api/mcp-servers/{id}/approve approves tools that wait.",
    { param: "approve_tools" },
  );
}

function changedMeanwhile(): ServiceError {
  return new ServiceError(
    "changed_meanwhile",
    "The tool server was changed by somebody else meanwhile; read it and send the change again.",
  );
}
