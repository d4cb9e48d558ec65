import { count, eq } from "drizzle-orm";
import type { AnyActor } from "../../../access/actor.ts";
import { auditDetails } from "../../../access/audit/record-audit.ts";
import { type ChangeFrame, change } from "../../../access/change.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { Db } from "../../../db/context.ts";
import { mcpServers } from "../../../db/tables/mcp-servers.ts";
import { randomBase62 } from "../../../lib/id.ts";
import type { CheckOutcome } from "../client/ask-server.ts";
import { insertListed, readServer, readTools } from "../server-rows.ts";
import { definitionOf, type ToolServer } from "../tool-server.ts";
import {
  type ShownServerWithTools,
  showWithTools,
  type ToolServers,
  throwUnknown,
} from "../tool-servers.ts";

const ID_LENGTH = 22;
/** Every replica holds all tool servers in memory and checks each of them, all at once. */
const SERVERS_MAX = 100;

/** The fields of a tool server that an administrator sets. */
export interface ServerFields {
  readonly name: string;
  readonly url: string;
  /** Secret. */
  readonly headers: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  readonly timeoutMs: number | null;
}

/** A tool server that is added. */
interface NewServer extends ServerFields {
  /** Whether the tools that it lists at this moment are approved; true unless given. */
  readonly approveTools?: boolean | undefined;
}

/**
 * Saves a tool server and approves the tools that it lists at this moment, unless a service token adds it. One that
 * cannot be used is saved too; its tools wait for approval when it lists them. Rejects with `invalid_value` for a name that is taken.
 */
export async function createToolServer(
  servers: ToolServers,
  actor: AnyActor,
  fields: NewServer,
): Promise<ShownServerWithTools> {
  const { name, url, headers, enabled, timeoutMs, approveTools = true } = fields;
  if (servers.known.list().some(({ row }) => row.name === name)) throw nameTaken(name);
  const id = `mcps_${randomBase62(ID_LENGTH)}`;
  const row = {
    ...{ id, name, url, enabled, timeoutMs },
    ...sealHeaders(servers, id, headers),
    createdBy: actor.caller.ownerId,
    createdAt: new Date(servers.clock.now()),
  };
  const checked = await checkDraft(servers, servers.toServer({ ...row, changeSeq: 0 }, []));
  const frame = serverFrame(servers, { verb: "create", id, onCommit: checked.record });
  const created = await change(servers, actor, frame, async (transaction, changeSeq) => {
    await refuseTakenPlace(transaction, name);
    await transaction.insert(mcpServers).values({ ...row, changeSeq });
    const areApproved = approveTools && actor.caller.kind !== "service_token";
    const approved = await addTools(transaction, id, { ...checked, areApproved });
    const { headerNames } = row;
    return {
      result: await readBack(servers, transaction, id),
      details: auditDetails({ name, url, headerNames, enabled, timeoutMs, approved }),
    };
  });
  return showWithTools(created, servers.healths);
}

/** Deletes a tool server with its tools. Rejects with `not_found`. */
export function deleteToolServer(servers: ToolServers, actor: AnyActor, id: string): Promise<void> {
  const frame = serverFrame(servers, { verb: "delete", id });
  return change(servers, actor, frame, async (transaction) => {
    const deletion = transaction.delete(mcpServers).where(eq(mcpServers.id, id));
    const [deleted] = await deletion.returning({ name: mcpServers.name, url: mcpServers.url });
    const { name, url } = deleted ?? throwUnknown();
    return { result: undefined, details: { name, url } };
  });
}

/** The result of checking a server before it is saved. */
interface CheckedDraft {
  /** What it lists; undefined when it is disabled or cannot be used. */
  readonly tools: Extract<CheckOutcome, { readonly tools: unknown }>["tools"] | undefined;
  /** Records the result for the server as it was checked. */
  readonly record: () => void;
}

export async function checkDraft(
  { ask, healths }: Pick<ToolServers, "ask" | "healths">,
  { row, link }: ToolServer,
): Promise<CheckedDraft> {
  if (!row.enabled) return { tools: undefined, record: () => undefined };
  const outcome = await ask(link);
  const tools = outcome.reason === undefined ? outcome.tools : undefined;
  return { tools, record: () => healths.record(row, outcome) };
}

interface FrameOptions {
  readonly verb: "create" | "update" | "delete" | "approve" | "set_level";
  readonly id: string;
  /** Runs when the change is stored, before this replica reads it. */
  readonly onCommit?: () => void;
}

export function serverFrame(
  { catchUp }: Pick<ToolServers, "catchUp">,
  { verb, id, onCommit }: FrameOptions,
): ChangeFrame {
  return {
    action: `mcp_server.${verb}`,
    targetKind: "mcp_server",
    targetId: id,
    counter: {
      name: "mcp_servers",
      catchUp: () => {
        onCommit?.();
        return catchUp();
      },
    },
  };
}

/** Returns the columns of a server's headers. */
export function sealHeaders(
  { secretBox }: Pick<ToolServers, "secretBox">,
  id: string,
  headers: Readonly<Record<string, string>>,
) {
  const headerNames = Object.keys(headers).sort();
  const isEmpty = headerNames.length === 0;
  return {
    headerNames,
    sealedHeaders: isEmpty ? null : secretBox.seal(JSON.stringify(headers), id),
  };
}

/** Adds the tools that a server lists at a new address. Returns the names of those that are approved. */
export async function addTools(
  transaction: Db,
  serverId: string,
  { tools = [], areApproved }: Pick<CheckedDraft, "tools"> & { readonly areApproved: boolean },
): Promise<readonly string[]> {
  const definitions = tools.map(definitionOf);
  const rows = definitions.map((listed) => ({
    name: listed.name,
    listed,
    approved: areApproved ? listed : null,
  }));
  await insertListed(transaction, serverId, rows);
  return areApproved ? definitions.map(({ name }) => name) : [];
}

/** Returns a server as the transaction has it. Rejects with `not_found`. */
export async function readBack(
  { toServer }: Pick<ToolServers, "toServer">,
  transaction: Db,
  id: string,
): Promise<ToolServer> {
  const row = (await readServer(transaction, id)) ?? throwUnknown();
  return toServer(row, await readTools(transaction, id));
}

/** Changes take the counter first, so that no two servers are created at once. */
async function refuseTakenPlace(transaction: Db, name: string): Promise<void> {
  const [taken] = await transaction
    .select({ id: mcpServers.id })
    .from(mcpServers)
    .where(eq(mcpServers.name, name));
  if (taken !== undefined) throw nameTaken(name);
  const [counted] = await transaction.select({ total: count() }).from(mcpServers);
  if ((counted?.total ?? 0) < SERVERS_MAX) return;
  throw new ServiceError(
    "invalid_value",
    `There are at most ${SERVERS_MAX} tool servers; delete some that are no longer used.`,
  );
}

function nameTaken(name: string): ServiceError {
  return new ServiceError(
    "invalid_value",
    `'name' must be one that no other tool server has; '${name}' is taken.`,
    { param: "name" },
  );
}
