import { describe, expect, it } from "vitest";
import type { LedgerEntry } from "../../simulator/ledger.ts";
import { compareLedger, type UsageRow } from "../support/ledger.ts";

function entry(sequence: number, changes: Partial<LedgerEntry> = {}): LedgerEntry {
  return {
    id: `sim-${sequence}`,
    sequence,
    method: "POST",
    path: "/v1/chat/completions",
    query: "",
    headers: [],
    bodyBytes: 0,
    bodySha256: "",
    body: "",
    beganAt: sequence,
    model: "sim-chat",
    status: 200,
    told: { inputTokens: 100_000 + sequence, outputTokens: 7 },
    sentTokens: 7,
    sentEvents: 9,
    firstByteAt: sequence,
    endedAt: sequence,
    end: "complete",
    ...changes,
  };
}

function row(sequence: number, changes: Partial<UsageRow> = {}): UsageRow {
  const figures = { inputTokens: 100_000 + sequence, outputTokens: 7 };
  return { id: `row-${sequence}`, ...figures, outcome: "ok", model: "sim-chat", ...changes };
}

describe("comparing the ledger with usage rows", () => {
  it("finds nothing wrong when every request has its row, in any order", () => {
    const compared = compareLedger([entry(1), entry(2), entry(3)], [row(3), row(1), row(2)]);
    expect(compared).toEqual({ matched: 3, missing: [], duplicate: [], unexpected: [], wrong: [] });
  });

  it("names the request without a row", () => {
    expect(compareLedger([entry(1), entry(2)], [row(2)]).missing).toEqual([entry(1)]);
  });

  it("names a row that is there twice, under one id or two", () => {
    expect(compareLedger([entry(1)], [row(1), row(1)]).duplicate).toHaveLength(1);
    const twice = compareLedger([entry(1)], [row(1), row(1, { id: "other" })]);
    expect(twice).toMatchObject({ matched: 1, duplicate: [{ id: "other" }], unexpected: [] });
  });

  it("names a row that no request stands behind", () => {
    expect(compareLedger([entry(1)], [row(1), row(9)]).unexpected).toEqual([row(9)]);
  });

  it("names wrong figures, a wrong model and a wrong outcome", () => {
    const fields = (one: LedgerEntry, other: UsageRow) =>
      compareLedger([one], [other]).wrong.map(({ field }) => field);
    expect(fields(entry(1), row(1, { outputTokens: 8 }))).toEqual(["outputTokens"]);
    expect(fields(entry(1), row(1, { model: "sim-small" }))).toEqual(["model"]);
    expect(fields(entry(1), row(1, { model: "sim-chat:latest" }))).toEqual([]);
    expect(fields(entry(1, { told: undefined, end: "reset" }), row(5))).toEqual(["outcome"]);
  });

  it("pairs what was told no figures with the rows left over, the failed ones first", () => {
    const left = entry(2, { told: undefined, end: "client-left" });
    const rows = [row(1), row(7, { inputTokens: 12, outputTokens: 3, outcome: "aborted" })];
    expect(compareLedger([entry(1), left], rows)).toMatchObject({ matched: 2, wrong: [] });
  });

  it("pairs by the entry's id where the test knows it", () => {
    const entries = [entry(1, { told: undefined }), entry(2, { told: undefined })];
    const rows = [row(1, { model: "sim-small" }), row(2)];
    const compared = compareLedger(entries, rows, {
      entryIdOf: ({ id }) => (id === "row-1" ? "sim-2" : "sim-1"),
    });
    expect(compared.wrong.map(({ entry: one }) => one.id)).toEqual(["sim-2"]);
  });

  it("lets a refused call be tried again without a row of its own", () => {
    const refused = entry(1, { status: 503, told: undefined });
    expect(compareLedger([refused, entry(2)], [row(2)], { hasRetries: true }).missing).toEqual([]);
    expect(compareLedger([refused, entry(2)], [row(2)]).missing).toEqual([refused]);
  });

  it("leaves other paths than chat aside", () => {
    const other = entry(1, { path: "/v1/models", method: "GET", told: undefined });
    expect(compareLedger([other], []).missing).toEqual([]);
  });
});
