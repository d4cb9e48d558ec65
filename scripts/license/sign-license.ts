import { type KeyObject, sign } from "node:crypto";

/** A license's content, as it is stored in the file. */
export interface LicensePayload {
  readonly version: 1;
  readonly id: string;
  readonly customer: string;
  readonly kind: "subscription" | "perpetual";
  readonly max_users: number;
  readonly max_gpus: number | null;
  /** RFC 3339, UTC, like all times. */
  readonly issued_at: string;
  readonly expires_at: string | null;
  readonly device_id: string | null;
}

/** Returns the text of a `.lic` file. */
export function signLicense(payload: LicensePayload, privateKey: KeyObject): string {
  const bytes = Buffer.from(JSON.stringify(payload));
  const signature = sign(null, bytes, privateKey);
  return `${bytes.toString("base64url")}.${signature.toString("base64url")}`;
}
