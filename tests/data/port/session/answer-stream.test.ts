import { expect, test } from "vitest";
import {
  errorResponse,
  readyForQuery,
} from "../../../../src/data/port/protocol/backend-messages.ts";
import { message } from "../../../../src/data/port/protocol/fields.ts";
import { MessageReader } from "../../../../src/data/port/protocol/message-reader.ts";
import { AnswerStream } from "../../../../src/data/port/session/answer-stream.ts";
import { Answers } from "../../../../src/data/port/session/answers.ts";
import { MAX_ERROR_BYTES } from "../../../../src/data/port/session/session-limits.ts";
import { createRandom } from "../../../support/faults/random.ts";
import { trialSize } from "../../../support/faults/trial-size.ts";

const ROW_LIMIT = 20;

/** What the client gets when the answers come in these chunks. */
function relay(chunks: readonly Buffer[], queries: number): Buffer {
  const answers = new Answers({
    rowLimit: ROW_LIMIT,
    timeoutSeconds: 30,
    now: () => 0,
    statement: () => undefined,
    moved: () => undefined,
    cut: () => undefined,
  });
  for (let query = 0; query < queries; query += 1) {
    answers.expect({ kind: "query", text: "t", portal: { text: "", rows: 0, bytes: 0 } });
  }
  const written: Buffer[] = [];
  const stream = new AnswerStream(answers, (bytes) => written.push(bytes), {
    maxHeldBytes: MAX_ERROR_BYTES,
  });
  for (const chunk of chunks) {
    // The receiver may keep none of it.
    const lent = Buffer.from(chunk);
    stream.take(lent);
    lent.fill(0xff);
  }
  return Buffer.concat(written);
}

function randomAnswer(random: () => number): Buffer {
  const rows = Array.from({ length: Math.floor(random() * 2 * ROW_LIMIT) }, () =>
    message("D", Buffer.alloc(Math.floor(random() * 40), "x")),
  );
  const error = { severity: "ERROR", code: "22012", message: "division by zero" } as const;
  const end = random() < 0.3 ? errorResponse(error) : message("C", Buffer.from("SELECT\0"));
  const notices =
    random() < 0.2 ? [message("N", Buffer.from([0])), message("A", Buffer.alloc(9))] : [];
  return Buffer.concat([
    message("T", Buffer.alloc(2)),
    ...notices,
    ...rows,
    end,
    readyForQuery("I"),
  ]);
}

const cut = (bytes: Buffer, sizes: () => number): Buffer[] => {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = Math.max(1, sizes());
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
};

test("answers are the same however their bytes are cut", () => {
  const random = createRandom(20_261);
  for (let trial = 0; trial < trialSize(200, 5000); trial += 1) {
    const queries = 1 + Math.floor(random() * 4);
    const bytes = Buffer.concat(Array.from({ length: queries }, () => randomAnswer(random)));
    const whole = relay([bytes], queries);
    expect(
      relay(
        cut(bytes, () => 1),
        queries,
      ),
    ).toEqual(whole);
    expect(
      relay(
        cut(bytes, () => Math.floor(random() * 60)),
        queries,
      ),
    ).toEqual(whole);
  }
});

test("a statement without a Sync is cut at its cap, and its other rows are dropped", () => {
  const answers = new Answers({
    ...{ rowLimit: 1, timeoutSeconds: 30, now: () => 0 },
    ...{ statement: () => undefined, moved: () => undefined, cut: () => undefined },
  });
  const written: Buffer[] = [];
  const stream = new AnswerStream(answers, (bytes) => written.push(bytes), {
    maxHeldBytes: MAX_ERROR_BYTES,
  });
  const expected = { text: "t", portal: { text: "", rows: 0, bytes: 0 } };
  answers.expect({ kind: "execute", ...expected });
  const row = message("D", Buffer.alloc(30, "x"));
  const cancelled = { severity: "ERROR", code: "57014", message: "canceled" } as const;
  stream.take(Buffer.concat([row, row, row, errorResponse(cancelled)]));
  answers.expect({ kind: "sync", ...expected, text: "" });
  stream.take(readyForQuery("I"));
  answers.expect({ kind: "execute", ...expected, portal: { text: "", rows: 0, bytes: 0 } });
  stream.take(row);
  const types = [...new MessageReader(1024).read(Buffer.concat(written))].map(({ type }) => type);
  expect(types.join("")).toBe("DEZD");
});

test("what is within the caps passes unchanged", () => {
  const row = message("D", Buffer.alloc(30, "x"));
  const rows = Array.from({ length: ROW_LIMIT }, () => row);
  const bytes = Buffer.concat([...rows, message("C", Buffer.from("SELECT\0")), readyForQuery("T")]);
  expect(relay([bytes], 1)).toEqual(bytes);
});
