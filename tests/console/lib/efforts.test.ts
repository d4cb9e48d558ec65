import { expect, it } from "vitest";
import { EFFORTS } from "../../../src/console/lib/efforts.ts";
import { EFFORTS as KNOWN } from "../../../src/core/chat/effort.ts";

it("offers every effort that the gateway knows", () => {
  expect(EFFORTS).toEqual(["", ...KNOWN]);
});
