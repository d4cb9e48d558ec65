import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckText } from "../../../src/data/port/gate/statement-gate.ts";
import { serveRead } from "../../../src/data/port/queries/read-endpoint.ts";
import {
  createStatementReader,
  type ReadParts,
} from "../../../src/data/port/queries/read-statement.ts";
import type { Principal } from "../../../src/data/principal.ts";
import { askProcess } from "../../../src/data/process/ask-process.ts";
import type { DataProcess } from "../../../src/data/process/data-process.ts";
import type { ReadRequest, Statement } from "../../../src/data/process/process-messages.ts";
import { createSocketEngine } from "./socket-engine.ts";

export const PRINCIPAL: Principal = {
  id: "bik_reader",
  name: "reader",
  views: ["things"],
  rowLimit: 1_000_000,
  timeoutSeconds: 30,
  maxConnections: 10,
  expiresAt: null,
};

/** A gate that refuses one word, for what is not about the gate. */
const checkText: CheckText = async (sql) => {
  const normalized = sql.replaceAll(/'[^']*'|\b\d+\b/g, "$1");
  if (/\bdelete\b/i.test(sql)) {
    const refusal = { code: "42501", message: "DELETE is refused.", hint: "Read only." };
    return { refusal, normalized };
  }
  const statements = sql.split(";").filter((text) => text.trim() !== "");
  return { statements: statements.map(() => "read"), normalized, relations: [] };
};

/** The data process' reads on a unix socket in this process, over the database of the URL. */
export async function openReadStage(url: string, parts: Pick<ReadParts, "limits" | "pace"> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "read-"));
  const engine = createSocketEngine(url);
  const statements: Statement[] = [];
  const endings: ((ids: readonly string[] | "all", reason: string) => void)[] = [];
  const control = {
    statement: (statement: Statement) => void statements.push(statement),
    onEnd: (listener: (typeof endings)[number]) => void endings.push(listener),
  };
  const reader = createStatementReader({ engine, checkText, control, ...parts });
  const server = createServer((request, response) => void serveRead(reader, request, response));
  const socketPath = join(folder, "socket");
  server.listen(socketPath);
  await once(server, "listening");
  let reads = 0;
  const isDone = () => {
    reads -= 1;
  };
  const process: Pick<DataProcess, "request"> = {
    request: (path, body, signal) => {
      reads += 1;
      return askProcess(socketPath, { path, body, isDone }, signal);
    },
  };
  return {
    ...{ engine, statements, reader, process, socketPath },
    /** Reads that have not ended. */
    openReads: () => reads,
    end: (ids: readonly string[] | "all", reason: string) => {
      for (const listener of endings) listener(ids, reason);
    },
    async close() {
      reader.close();
      server.closeAllConnections();
      server.close();
      await engine.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function readRequest(more: Partial<ReadRequest>): ReadRequest {
  return {
    principal: PRINCIPAL,
    login: { url: "postgres://unused" },
    ...{ via: "query", sql: "select 1", values: [], format: "json", spreadsheet: false },
    ...{ rows: null, paging: null, asOf: "2026-11-23T00:00:00.000Z" },
    ...more,
  };
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
