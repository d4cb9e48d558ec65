import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { type LicensePayload, signLicense } from "../../../../scripts/license/sign-license.ts";

/** A pair of keys as `license keygen` makes it. */
export interface LicenseKeys {
  readonly privateKey: KeyObject;
  /** As LICENSE_PUBLIC_KEY takes it. */
  readonly publicKey: string;
}

export function makeLicenseKeys(): LicenseKeys {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const spki = publicKey.export({ format: "der", type: "spki" });
  return { privateKey, publicKey: spki.subarray(-32).toString("base64url") };
}

/** The vendor of the tests. */
export const vendor = makeLicenseKeys();

/** A license's content: a subscription of a year from now on for anybody, unless told otherwise. */
export function licensePayload(fields: Partial<LicensePayload> = {}): LicensePayload {
  return {
    version: 1,
    id: "lic_test",
    customer: "A customer of the tests",
    kind: "subscription",
    max_users: 50,
    max_gpus: null,
    issued_at: new Date().toISOString(),
    expires_at: inDays(365),
    device_id: null,
    ...fields,
  };
}

/** The text of a license file of the tests' vendor. */
export function licenseText(fields: Partial<LicensePayload> = {}): string {
  return signLicense(licensePayload(fields), vendor.privateKey);
}

/** RFC 3339, from now. */
export function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}
