import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import {
  isHubSignature,
  isSecret,
  isStandardSignature,
  readCredential,
} from "../../../src/workflows/intake/webhook-credential.ts";

const SECRET = "whk_3v9QmTq2LxZ8cR5nYb7KdW3v9QmTq2LxZ8cR5nYb7Kd";
const NOW = Date.UTC(2026, 10, 23, 12);
const body = Buffer.from('{"a":"ü"}');
const signed = { secret: SECRET, body, now: NOW };

describe("a signature of Standard Webhooks", () => {
  const sign = (webhook: Webhook, at = NOW, id = "msg_1") => ({
    kind: "standard" as const,
    id,
    timestamp: String(Math.floor(at / 1_000)),
    signatures: webhook.sign(id, new Date(at), body.toString()),
  });
  const raw = new Webhook(SECRET, { format: "raw" });
  const encoded = new Webhook(`whsec_${Buffer.from(SECRET).toString("base64")}`);

  test.each([
    ["the secret as it is", raw],
    ["the secret as whsec_ and base64", encoded],
  ])("by the reference library with %s is right", (_, webhook) => {
    expect(isStandardSignature(sign(webhook), signed)).toBe(true);
  });

  test("is found among those of other secrets and versions", () => {
    const right = sign(raw);
    const signatures = `v1,AAAA v1a,BBBB ${right.signatures}`;
    expect(isStandardSignature({ ...right, signatures }, signed)).toBe(true);
    expect(isStandardSignature({ ...right, signatures: "v1,AAAA v2,BBBB" }, signed)).toBe(false);
    expect(isStandardSignature({ ...right, signatures: "" }, signed)).toBe(false);
  });

  test.each([
    ["five minutes old", -300, true],
    ["older", -301, false],
    ["five minutes ahead", 300, true],
    ["further ahead", 301, false],
  ])("that is %s counts: %3$s", (_, seconds, isRight) => {
    expect(isStandardSignature(sign(raw, NOW + seconds * 1_000), signed)).toBe(isRight);
  });

  test("of another body, id, time or secret is wrong", () => {
    const right = sign(raw);
    const later = String(Number(right.timestamp) + 1);
    expect(isStandardSignature({ ...right, id: "msg_2" }, signed)).toBe(false);
    expect(isStandardSignature({ ...right, timestamp: later }, signed)).toBe(false);
    expect(isStandardSignature(right, { ...signed, body: Buffer.from("{}") })).toBe(false);
    expect(isStandardSignature(right, { ...signed, secret: `${SECRET}x` })).toBe(false);
    for (const timestamp of ["", "now", "1e9", "-1", "9".repeat(20)]) {
      expect(isStandardSignature({ ...right, timestamp }, signed)).toBe(false);
    }
  });
});

describe("GitHub's signature", () => {
  // The example of "Validating webhook deliveries" in GitHub's documentation; its payload is no JSON.
  const example = {
    secret: "It's a Secret to Everybody",
    body: Buffer.from("Hello, World!"),
  };
  const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

  test("of its published example is right", () => {
    expect(isHubSignature(signature, example)).toBe(true);
  });

  test("that differs in anything is wrong", () => {
    expect(isHubSignature(signature, { ...example, body: Buffer.from("Hello, World") })).toBe(
      false,
    );
    expect(isHubSignature(signature, { ...example, secret: "another" })).toBe(false);
    for (const wrong of ["", "sha256=", signature.slice(0, -1), signature.replace("256", "1")]) {
      expect(isHubSignature(wrong, example)).toBe(false);
    }
  });
});

describe("the secret", () => {
  test("is right alone as it is", () => {
    expect(isSecret(SECRET, SECRET)).toBe(true);
    for (const wrong of ["", "whk_", SECRET.slice(0, -1), `${SECRET}x`, SECRET.toUpperCase()]) {
      expect(isSecret(wrong, SECRET)).toBe(false);
    }
  });

  test.each<[Record<string, string>, string | undefined]>([
    [{ authorization: `Bearer ${SECRET}` }, "secret"],
    [{ authorization: `bearer  ${SECRET}` }, "secret"],
    [{ "x-webhook-secret": SECRET }, "secret"],
    [{ authorization: "Bearer sk-key", "webhook-signature": "v1,a" }, "standard"],
    [{ "x-hub-signature-256": "sha256=00" }, "hub"],
    [{ authorization: "Bearer sk-key" }, undefined],
    [{ "webhook-id": "msg_1" }, undefined],
    [{}, undefined],
  ])("or a signature is found in %j", (headers, kind) => {
    expect(readCredential(new Headers(headers))?.kind).toBe(kind);
  });
});
