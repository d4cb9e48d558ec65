import { connect, type Socket } from "node:net";
import {
  readError,
  type ServerError,
} from "../../../../src/data/port/protocol/backend-messages.ts";
import { int32, message, text } from "../../../../src/data/port/protocol/fields.ts";
import { MessageReader } from "../../../../src/data/port/protocol/message-reader.ts";

export interface Answer {
  readonly type: string;
  readonly body: Buffer;
}

export interface RawClient {
  readonly socket: Socket;
  readonly send: (...messages: readonly Buffer[]) => void;
  /** The answers up to the next ReadyForQuery, or to the end of the connection. */
  readonly answers: () => Promise<readonly Answer[]>;
  /** The same in short: types, with SQLSTATEs and the transaction's status, such as `1 2 D C(SELECT 1) Z(I)`. */
  readonly shorthand: () => Promise<string>;
  /** Waits until so many messages more have come. */
  readonly next: (count: number) => Promise<string>;
  readonly closed: Promise<void>;
}

/** Speaks the protocol by hand, after a start-up that is let in. */
export async function openRawClient(port: number): Promise<RawClient> {
  const socket = connect(port, "127.0.0.1");
  const reader = new MessageReader(64 * 1_048_576);
  const waiting: Answer[] = [];
  let wake: () => void = () => undefined;
  let isClosed = false;
  socket.on("error", () => undefined);
  socket.on("data", (bytes: Buffer) => {
    for (const { type, body } of reader.read(bytes))
      waiting.push({ type, body: Buffer.from(body) });
    wake();
  });
  const closed = new Promise<void>((resolve) =>
    socket.once("close", () => {
      isClosed = true;
      wake();
      resolve();
    }),
  );
  const take = async (isEnough: (taken: readonly Answer[]) => boolean) => {
    const taken: Answer[] = [];
    while (!isEnough(taken)) {
      const answer = waiting.shift();
      if (answer !== undefined) {
        taken.push(answer);
      } else if (isClosed) {
        return taken;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    return taken;
  };
  const answers = () => take((taken) => taken.at(-1)?.type === "Z");
  const parameters = Buffer.concat([text("user"), text("anybody"), Buffer.from([0])]);
  socket.write(Buffer.concat([int32(parameters.length + 8), int32(196_608), parameters]));
  const started = await answers();
  if (started.at(-1)?.type !== "Z") throw new Error(shorten(started));
  return {
    socket,
    send: (...messages) => void socket.write(Buffer.concat(messages)),
    answers,
    shorthand: async () => shorten(await answers()),
    next: async (count) => shorten(await take((taken) => taken.length === count)),
    closed,
  };
}

export const flush = () => message("H");

export const errorOf = (answers: readonly Answer[]): ServerError | undefined => {
  const found = answers.find(({ type }) => type === "E");
  return found && readError(found.body);
};

function shorten(answers: readonly Answer[]): string {
  return answers.map(shortenOne).join(" ");
}

function shortenOne({ type, body }: Answer): string {
  if (type === "E") return `E(${readError(body).code})`;
  if (type === "C") return `C(${body.toString("utf8", 0, body.length - 1)})`;
  return type === "Z" ? `Z(${body.toString()})` : type;
}
