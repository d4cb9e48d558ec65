import { describe, expect, it } from "vitest";
import { createAddressPace, createRecordPace } from "../../../src/access/sign-in/address-pace.ts";

const HOUR = 3_600_000;

describe("the pace of an address", () => {
  it("is 60 sign-ins in a minute, of an IPv6 network as of one address", () => {
    const time = { now: 0 };
    const keepPace = createAddressPace({ now: () => time.now });
    for (let tried = 0; tried < 60; tried += 1) keepPace(`2001:db8::${tried}`);
    expect(() => keepPace("2001:db8::ffff")).toThrow(/wait 60 s/);
    expect(() => keepPace("192.0.2.1")).not.toThrow();
    time.now = 60_000;
    expect(() => keepPace("2001:db8::ffff")).not.toThrow();
  });

  it("is ten records in an hour of what needs no sign-in", () => {
    const time = { now: 0 };
    const isRecorded = createRecordPace({ now: () => time.now });
    const recorded = (address: string | null) =>
      Array.from({ length: 60 }, () => isRecorded(address)).filter(Boolean).length;
    expect([recorded("192.0.2.1"), recorded("192.0.2.2"), recorded(null)]).toEqual([10, 10, 10]);
    time.now = HOUR - 1;
    expect(recorded("192.0.2.1")).toBe(0);
    time.now = HOUR;
    expect(recorded("192.0.2.1")).toBe(10);
    // A clock that is set back begins a window of its own.
    time.now = 0;
    expect(recorded("192.0.2.1")).toBe(10);
  });
});
