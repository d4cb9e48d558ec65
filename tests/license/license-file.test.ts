import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signLicense } from "../../scripts/license/sign-license.ts";
import { StartRefusal } from "../../src/lib/folders/start-refusal.ts";
import { LicenseRefusal, readLicenseFile } from "../../src/license/license-file.ts";
import { readVerificationKey } from "../../src/license/verification-key.ts";
import {
  licensePayload,
  licenseText,
  makeLicenseKeys,
  vendor,
} from "../support/stages/access/test-license.ts";

const { key } = readVerificationKey(vendor.publicKey);
const read = (file: string) => readLicenseFile(file, key);
const encode = (bytes: string | Uint8Array) => Buffer.from(bytes).toString("base64url");
const file = licenseText();
const [payload = "", signature = ""] = file.split(".");

/** The reason of the refusal, of which nothing may tell of our inside. */
function refusalOf(text: string): string {
  try {
    read(text);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(LicenseRefusal);
    const { message } = thrown as LicenseRefusal;
    expect(message).toMatch(/^[A-Z][\x20-\x7e]+\.$/);
    expect(message).not.toMatch(/zod|openssl|ERR_|undefined|at \w+ \(/i);
    return message;
  }
  throw new Error(`accepted: ${text}`);
}

describe("a license file", () => {
  it("says whose it is and what it allows", () => {
    const text = licenseText({
      id: "lic_1",
      customer: "Müller & Söhne",
      max_users: 7,
      max_gpus: 0,
      issued_at: "2026-01-01T00:00:00.000Z",
      expires_at: "2027-01-01",
      device_id: "dev_1",
    });
    expect(read(text)).toEqual({
      id: "lic_1",
      customer: "Müller & Söhne",
      kind: "subscription",
      maxUsers: 7,
      maxGpus: 0,
      issuedAt: Date.UTC(2026, 0),
      expiresAt: Date.UTC(2027, 0),
      deviceId: "dev_1",
    });
  });

  it("may be perpetual, and may hold fields of a later release", () => {
    const perpetual = {
      kind: "perpetual",
      expires_at: null,
      color: "blue",
      features: [1],
    } as const;
    expect(read(licenseText(perpetual))).toMatchObject({ kind: "perpetual", expiresAt: null });
  });

  it("of another version is refused with the advice to update, whatever else it holds", () => {
    for (const version of [0, 2, "1", null, undefined]) {
      const text = licenseText({ version: version as 1, kind: "rental" as "perpetual" });
      expect(refusalOf(text)).toContain("update the gateway");
    }
  });

  it.each([
    ["id", ""],
    ["customer", undefined],
    ["kind", "trial"],
    ["max_users", 0],
    ["max_users", 1.5],
    ["max_users", "50"],
    ["max_gpus", -1],
    ["issued_at", "yesterday"],
    ["issued_at", 1_700_000_000],
    ["expires_at", null],
    ["expires_at", "2027-02-30"],
    ["device_id", 7],
  ])("with the %s %s is refused by that name", (field, value) => {
    expect(refusalOf(licenseText({ [field]: value }))).toContain(field);
  });

  it("of a perpetual license with an expiry is refused", () => {
    expect(refusalOf(licenseText({ kind: "perpetual" }))).toContain("expires_at");
  });

  it("that is signed but holds no JSON object is refused", () => {
    for (const content of ["", "null", "[]", "no JSON", new Uint8Array([0xff, 0xfe])]) {
      const bytes = Buffer.from(content);
      const text = `${encode(bytes)}.${encode(sign(null, bytes, vendor.privateKey))}`;
      refusalOf(text);
    }
  });
});

describe("L01 a damaged license file is refused", () => {
  it("with any byte of it changed in any way", () => {
    expect(read(file).id).toBe("lic_test");
    for (let at = 0; at < file.length; at += 1) {
      const code = file.charCodeAt(at);
      // Each single bit, and each neighbour in the alphabet of base64.
      const others = [...Array(8).keys()].map((bit) => code ^ (1 << bit));
      for (const other of new Set([...others, code + 1, code - 1, 0x0a, 0x20, 0x3d, 0x2e])) {
        if (other === code) continue;
        refusalOf(file.slice(0, at) + String.fromCharCode(other & 0xff) + file.slice(at + 1));
      }
    }
  });

  it("with any byte of it missing, or cut off anywhere", () => {
    for (let at = 0; at < file.length; at += 1) {
      refusalOf(file.slice(0, at) + file.slice(at + 1));
      refusalOf(file.slice(0, at));
    }
  });

  it.each([
    ["without its signature", payload],
    ["with nothing behind the dot", `${payload}.`],
    ["with nothing before the dot", `.${signature}`],
    ["with a third part", `${file}.${signature}`],
    ["with padding", `${file}=`],
    ["with a line end", `${file}\n`],
    ["with a byte order mark", `\u00ef\u00bb\u00bf${file}`],
    ["with a NUL", `${file}\0`],
    ["with a letter more", `${file}A`],
    ["twice", file + file],
    ["with its halves exchanged", `${signature}.${payload}`],
    [
      "in the other alphabet of base64",
      licenseText({ customer: "???" }).replaceAll("-", "+").replaceAll("_", "/"),
    ],
    ["with more than a license can hold", `${"A".repeat(17_000)}.${signature}`],
  ])("%s", (_, text) => {
    refusalOf(text);
  });

  it("with its fields reordered, or another space between them", () => {
    const content = JSON.parse(Buffer.from(payload, "base64url").toString());
    const reordered = Object.fromEntries(Object.entries(content).reverse());
    refusalOf(`${encode(JSON.stringify(reordered))}.${signature}`);
    refusalOf(`${encode(JSON.stringify(content, undefined, 1))}.${signature}`);
    refusalOf(`${encode(JSON.stringify({ ...content, max_users: 51 }))}.${signature}`);
  });
});

describe("L02 a license file with a signature of another kind is refused", () => {
  const bytes = Buffer.from(payload, "base64url");
  const publicBytes = Buffer.from(vendor.publicKey, "base64url");
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });

  it.each([
    ["none", `${payload}.${encode("none")}`],
    ["a header that says none", `${encode('{"alg":"none"}')}.${payload}.`],
    ["an empty one", `${payload}.`],
    ["64 zeros", `${payload}.${encode(Buffer.alloc(64))}`],
    [
      "an HMAC with the public key",
      `${payload}.${encode(createHmac("sha512", publicBytes).update(bytes).digest())}`,
    ],
    [
      "an HMAC over the encoded payload",
      `${payload}.${encode(createHmac("sha512", vendor.publicKey).update(payload).digest())}`,
    ],
    ["an RSA signature", `${payload}.${encode(sign("sha256", bytes, rsa.privateKey))}`],
    [
      "the first 64 bytes of one",
      `${payload}.${encode(sign("sha256", bytes, rsa.privateKey).subarray(0, 64))}`,
    ],
    ["one of another vendor", signLicense(licensePayload(), makeLicenseKeys().privateKey)],
    [
      "one over the encoded payload",
      `${payload}.${encode(sign(null, Buffer.from(payload), vendor.privateKey))}`,
    ],
    ["one of another license", `${payload}.${licenseText({ id: "lic_2" }).split(".")[1]}`],
    [
      "one with a second behind it",
      `${payload}.${encode(Buffer.concat([Buffer.from(signature, "base64url"), Buffer.alloc(64)]))}`,
    ],
  ])("%s", (_, text) => {
    expect(refusalOf(text)).toMatch(/signature|not a license/);
  });

  it("one whose scalar was made larger by the group's order, which means the same", () => {
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const raw = Buffer.from(signature, "base64url");
    const scalar = BigInt(`0x${Buffer.from(raw.subarray(32)).reverse().toString("hex")}`) + order;
    const larger = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse();
    refusalOf(`${payload}.${encode(Buffer.concat([raw.subarray(0, 32), larger]))}`);
  });

  it("and no license of another vendor verifies under the key that is built in", () => {
    expect(() => readLicenseFile(file, readVerificationKey(undefined).key)).toThrow(LicenseRefusal);
  });
});

describe("LICENSE_PUBLIC_KEY", () => {
  it("unset leaves the key that is built in", () => {
    expect(readVerificationKey(undefined).isBuiltIn).toBe(true);
    expect(readVerificationKey(vendor.publicKey).isBuiltIn).toBe(false);
  });

  it.each([
    "key",
    vendor.publicKey.slice(1),
    `${vendor.publicKey}=`,
    ` ${vendor.publicKey}`,
    Buffer.from(vendor.publicKey, "base64url").toString("hex"),
    `${vendor.publicKey}A`,
  ])("is refused by its name when it is %s", (setting) => {
    expect(() => readVerificationKey(setting)).toThrow(StartRefusal);
    expect(() => readVerificationKey(setting)).toThrow(/LICENSE_PUBLIC_KEY/);
  });
});
