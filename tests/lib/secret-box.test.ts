import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createSecretBox } from "../../src/lib/secret-box.ts";

const box = createSecretBox(randomBytes(32));

describe("a secret box", () => {
  it("opens what it has sealed, and seals the same text differently each time", () => {
    const one = box.seal("pässword", "conn_1");
    expect(box.open(one, "conn_1")).toBe("pässword");
    expect(box.seal("pässword", "conn_1")).not.toBe(one);
    expect(box.open(box.seal("", "conn_1"), "conn_1")).toBe("");
    expect(one).not.toContain("ssword");
  });

  it("opens nothing for another record, with another key, or that was changed", () => {
    const sealed = box.seal("secret", "conn_1");
    expect(box.open(sealed, "conn_2")).toBeUndefined();
    expect(createSecretBox(randomBytes(32)).open(sealed, "conn_1")).toBeUndefined();
    for (const damaged of ["", "v1.", "v1.AAAA", "v2.x", sealed.slice(0, -2), `${sealed}AA`]) {
      expect(box.open(damaged, "conn_1")).toBeUndefined();
    }
    const bytes = Buffer.from(sealed.slice(3), "base64url");
    for (const [at, byte] of bytes.entries()) {
      const changed = Buffer.from(bytes);
      changed[at] = byte ^ 1;
      expect(box.open(`v1.${changed.toString("base64url")}`, "conn_1")).toBeUndefined();
    }
  });
});
