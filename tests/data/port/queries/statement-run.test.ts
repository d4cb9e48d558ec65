import { expect, it } from "vitest";
import type { SessionReceiver } from "../../../../src/data/port/engine.ts";
import { readyForQuery } from "../../../../src/data/port/protocol/backend-messages.ts";
import { int16, int32, message, text } from "../../../../src/data/port/protocol/fields.ts";
import type { ReadSession } from "../../../../src/data/port/queries/read-sessions.ts";
import { RUN_LIMITS, type RunResult } from "../../../../src/data/port/queries/run-limits.ts";
import { StatementRun } from "../../../../src/data/port/queries/statement-run.ts";
import { ReadingPace } from "../../../../src/data/port/reading-pace.ts";
import { readRequest } from "../../../support/data/read-stage.ts";

const INTEGER = 23;
const COLUMN = message(
  ...(["T", int16(1), text("n"), int32(0), int16(0), int32(INTEGER), int16(4), int32(-1)] as const),
  int16(0),
);
const ROW = message("D", int16(1), int32(1), Buffer.from("1"));

/** A session that brings rows, and neither ends nor is cancelled. */
function endlessSession(rows: number) {
  let receiver: SessionReceiver | undefined;
  const released: boolean[] = [];
  let sent = 0;
  const answers = [readyForQuery("T"), Buffer.concat([COLUMN, ...Array(rows).fill(ROW)])];
  const session = {
    ...{ parameters: new Map(), isWaiting: false, takePlace: null },
    catalog: undefined as never,
    send() {
      const answer = answers[sent];
      sent += 1;
      if (answer !== undefined) queueMicrotask(() => receiver?.bytes(answer));
      return true;
    },
    drained: () => Promise.resolve(),
    ...{ rest() {}, resume() {}, cancel() {}, close() {} },
  };
  const held: ReadSession = {
    session,
    receive: (given) => {
      receiver = given;
    },
    release: (isReady) => void released.push(isReady),
  };
  return { held, released };
}

it("answers with the rows of a full page though the statement cannot be cancelled", async () => {
  const { held, released } = endlessSession(20);
  const results: RunResult[] = [];
  const run = new StatementRun(held, readRequest({ rows: 10 }), {
    limits: { ...RUN_LIMITS, cancelMs: 20 },
    pace: new ReadingPace(),
    onOver: (result) => void results.push(result),
  });
  expect(await run.begun()).toBe("application/json");
  const pieces: Buffer[] = [];
  for (let bytes = await run.take(); bytes !== undefined; bytes = await run.take()) {
    pieces.push(bytes);
  }
  const body = JSON.parse(Buffer.concat(pieces).toString());
  expect(body.data).toEqual(Array(10).fill({ n: 1 }));
  expect(body).toMatchObject({ has_more: true, next: null });
  expect(results).toMatchObject([{ rows: 10, outcome: "ok", code: null }]);
  expect(released).toEqual([false]);
});
