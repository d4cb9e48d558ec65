import type { CopyConfig } from "../../process/process-messages.ts";
import { readError } from "../protocol/backend-messages.ts";
import { FieldReader, int32, text } from "../protocol/fields.ts";
import { query } from "../protocol/frontend-messages.ts";
import { type Message, MessageReader } from "../protocol/message-reader.ts";
import { type CopyThread, startCopyThread } from "./copy-thread.ts";

/** The embedded database's own limit for an answer. */
const ANSWER_MAX = 2 ** 30;
const PROTOCOL_3 = 196_608;

/** The database refused a statement of ours. */
export class CopyError extends Error {
  override readonly name = "CopyError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The database of the copy. Whoever uses it has the turn. */
export interface CopyDatabase {
  readonly execute: (messages: Buffer) => Promise<Buffer>;
  /**
   * Runs statements of ours, as one transaction, and returns the rows of the last ones, as texts. Rejects with a
   * CopyError.
   */
  readonly query: (sql: string) => Promise<(string | null)[][]>;
  /** The ParameterStatus values of the start. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly destroy: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openCopyDatabase(config: CopyConfig): Promise<CopyDatabase> {
  const thread = await startCopyThread(config);
  const started = await thread.execute(startUp());
  const run = async (sql: string): Promise<(string | null)[][]> => {
    try {
      return readRows(await thread.execute(query(sql)));
    } catch (thrown) {
      if (thrown instanceof CopyError) await thread.execute(query("rollback"));
      throw thrown;
    }
  };
  return { ...operations(thread), query: run, parameters: readParameters(started) };
}

function operations({ execute, destroy, close }: CopyThread): CopyThread {
  return { execute, destroy, close };
}

/** Only after it does the database report changes of its parameters. */
function startUp(): Buffer {
  const body = Buffer.concat([int32(PROTOCOL_3), text("user"), text("postgres"), Buffer.from([0])]);
  return Buffer.concat([int32(body.length + 4), body]);
}

function readMessages(bytes: Buffer): Message[] {
  return [...new MessageReader(ANSWER_MAX).read(bytes)];
}

function readParameters(bytes: Buffer): Map<string, string> {
  const found = new Map<string, string>();
  for (const { type, body } of readMessages(bytes)) {
    if (type !== "S") continue;
    const fields = new FieldReader(body);
    found.set(fields.text(), fields.text());
  }
  return found;
}

function readRows(answer: Buffer): (string | null)[][] {
  const rows: (string | null)[][] = [];
  for (const { type, body } of readMessages(answer)) {
    if (type === "E") {
      const { code, message } = readError(body);
      throw new CopyError(code, message);
    }
    if (type !== "D") continue;
    const fields = new FieldReader(body);
    rows.push(
      Array.from({ length: fields.int16() }, () => {
        const length = fields.int32();
        return length === -1 ? null : fields.bytes(length).toString();
      }),
    );
  }
  return rows;
}
