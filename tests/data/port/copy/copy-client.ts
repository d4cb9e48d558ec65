import { type CopyEngine, openCopyEngine } from "../../../../src/data/port/copy/copy-engine.ts";
import type { EngineSession } from "../../../../src/data/port/engine.ts";
import { readError } from "../../../../src/data/port/protocol/backend-messages.ts";
import { FieldReader } from "../../../../src/data/port/protocol/fields.ts";
import { query } from "../../../../src/data/port/protocol/frontend-messages.ts";
import { MessageReader } from "../../../../src/data/port/protocol/message-reader.ts";
import type { Principal } from "../../../../src/data/principal.ts";
import type { ViewColumn } from "../../../../src/data/views/data-view.ts";
import { emptyArchive } from "../../../support/servers/databases/prepared-database.ts";

export const principal = (id: string, given: Partial<Principal> = {}): Principal => ({
  id,
  name: id,
  views: ["numbers"],
  rowLimit: 1_000_000,
  timeoutSeconds: 30,
  maxConnections: 10,
  expiresAt: null,
  ...given,
});

const column = (name: string, type: ViewColumn["type"]): ViewColumn => ({
  ...{ name, type, comment: `The ${name}.`, nullable: false },
});

export const numbersView = {
  name: "numbers",
  comment: "Numbers.",
  columns: [column("n", "bigint"), column("word", "text")],
  key: ["n"],
  datasetId: null,
};

/** An engine whose one view has rows, and what it told the server. */
export async function openFilledEngine(rows: number, folder: string | null = null) {
  let exits = 0;
  const exitForTurn = () => {
    exits += 1;
  };
  const control = { exitForTurn, log: () => undefined };
  const engine = openCopyEngine({ folder, archive: await emptyArchive() }, { control });
  await fill(engine, rows);
  return { engine, exits: () => exits };
}

async function fill(engine: CopyEngine, rows: number): Promise<void> {
  const secret = { ...numbersView, name: "secrets" };
  await engine.applyFeed({ type: "begin", mark: "a", views: [numbersView, secret] });
  for (let from = 1; from <= rows; from += 5_000) {
    const count = Math.min(5_000, rows - from + 1);
    const list = Array.from({ length: count }, (_, i) => `"(${from + i},word${from + i})"`);
    await engine.applyFeed({ type: "rows", view: "numbers", rows: `{${list.join(",")}}` });
  }
  const applied = { type: "apply", remove: { kind: "all" }, state: "s", asOf: 1000 } as const;
  await engine.applyFeed({ ...applied, view: "numbers" });
  await engine.applyFeed({ ...applied, view: "secrets" });
  await engine.applyFeed({ type: "whole" });
}

/** A client that holds what it is answered. */
export class CopyClient {
  session!: EngineSession;
  readonly messages: { readonly type: string; readonly body: Buffer }[] = [];
  over: string | undefined;
  isPaused = false;
  readonly #reader = new MessageReader(2 ** 30);
  #wake: (() => void)[] = [];

  static async open(engine: CopyEngine, who: Principal, parameters: Record<string, string> = {}) {
    const client = new CopyClient();
    client.session = await engine.open(
      { principal: who, login: null, parameters: new Map(Object.entries(parameters)) },
      {
        bytes(bytes) {
          for (const { type, body } of client.#reader.read(bytes)) {
            client.messages.push({ type, body: Buffer.from(body) });
          }
          client.#notify();
          return !(client.isPaused && client.messages.some(({ type }) => type === "D"));
        },
        began: () => undefined,
        ended(code) {
          client.over = code;
          client.#notify();
        },
      },
    );
    return client;
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** Resolves when the condition holds, after any message. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  /** Sends messages and resolves to those that come up to ReadyForQuery, or the end. */
  async ask(bytes: Buffer) {
    const from = this.messages.length;
    this.session.send(bytes);
    const ready = () => this.messages.slice(from).some(({ type }) => type === "Z");
    await this.until(() => this.over !== undefined || ready());
    return this.messages.slice(from);
  }

  async query(sql: string) {
    return this.ask(query(sql));
  }

  /** Rows as texts; of an error, its SQLSTATE. */
  async rows(sql: string): Promise<string | (string | null)[][]> {
    return rowsOf(await this.query(sql));
  }
}

type Answer = readonly { readonly type: string; readonly body: Buffer }[];

export function rowsOf(answer: Answer): string | (string | null)[][] {
  const error = answer.find(({ type }) => type === "E");
  if (error !== undefined) return readError(error.body).code;
  return answer.flatMap(({ type, body }) => {
    if (type !== "D") return [];
    const fields = new FieldReader(body);
    const values = Array.from({ length: fields.int16() }, () => {
      const length = fields.int32();
      return length === -1 ? null : fields.bytes(length).toString();
    });
    return [values];
  });
}

export const typesOf = (answer: Answer): string => answer.map(({ type }) => type).join("");
export const tagsOf = (answer: Answer): string[] =>
  answer.flatMap(({ type, body }) =>
    type === "C" ? [body.toString("utf8", 0, body.length - 1)] : [],
  );
