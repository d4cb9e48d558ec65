import { type KeyObject, verify } from "node:crypto";
import { z } from "zod";

/** The terms of a license. */
export interface LicenseTerms {
  readonly id: string;
  readonly customer: string;
  readonly kind: "subscription" | "perpetual";
  readonly maxUsers: number;
  /** Null: any number. */
  readonly maxGpus: number | null;
  /** Unix milliseconds. */
  readonly issuedAt: number;
  /** Unix milliseconds; null for a perpetual license. */
  readonly expiresAt: number | null;
  /** The device it is bound to; null: any. */
  readonly deviceId: string | null;
}

/** A file that is not an acceptable license. The message gives its sender the reason, and no internals. */
export class LicenseRefusal extends Error {
  override readonly name = "LicenseRefusal";
}

export const LICENSE_MAX_BYTES = 16 * 1024;
const SIGNATURE_BYTES = 64;
const VERSION = 1;

const text = z.string().min(1).max(200);
const time = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()])
  .transform((written) => Date.parse(written));

/** Fields of later releases are ignored. */
const payloadSchema = z
  .object({
    id: text,
    customer: text,
    kind: z.enum(["subscription", "perpetual"]),
    max_users: z.int().min(1),
    max_gpus: z.int().min(0).nullish(),
    issued_at: time,
    expires_at: time.nullish(),
    device_id: text.nullish(),
  })
  .refine(({ kind, expires_at }) => (kind === "perpetual") === (expires_at == null), {
    path: ["expires_at"],
  });

/**
 * Reads a `.lic` file: `base64url(payload JSON) "." base64url(Ed25519 signature over the payload's bytes)`, in
 * canonical encoding. The payload is not parsed before its signature is verified; the algorithm is that of the key,
 * whatever the file states. Throws a `LicenseRefusal`.
 */
export function readLicenseFile(file: string, key: KeyObject): LicenseTerms {
  if (file.length > LICENSE_MAX_BYTES) throw notALicense();
  const [payload, signature, ...rest] = file.split(".").map(decodeStrictly);
  if (payload === undefined || signature === undefined || rest.length > 0) throw notALicense();
  if (signature.length !== SIGNATURE_BYTES || !verify(null, payload, key, signature)) {
    throw new LicenseRefusal(
      "The license's signature does not fit: the file was changed, or is not the vendor's.",
    );
  }
  return readPayload(parse(payload));
}

/** Decodes canonical base64url. Undefined when encoding the bytes again would not give the same text. */
function decodeStrictly(encoded: string): Buffer | undefined {
  const bytes = Buffer.from(encoded, "base64url");
  return bytes.length > 0 && bytes.toString("base64url") === encoded ? bytes : undefined;
}

function notALicense(): LicenseRefusal {
  return new LicenseRefusal("The file is not a license, or it is damaged.");
}

function parse(payload: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
  } catch (thrown) {
    throw new LicenseRefusal("The license is signed, but its content is not JSON.", {
      cause: thrown,
    });
  }
}

function readPayload(value: unknown): LicenseTerms {
  const version = z.object({ version: z.literal(VERSION) }).safeParse(value);
  if (!version.success) {
    throw new LicenseRefusal(
      `The license is not of version ${VERSION}, the only one that this release reads; update the gateway.`,
    );
  }
  const { data, error } = payloadSchema.safeParse(value);
  if (data === undefined) {
    const field = String(error.issues[0]?.path[0] ?? "content");
    throw new LicenseRefusal(`The license is signed, but its ${field} is missing or wrong.`);
  }
  return {
    id: data.id,
    customer: data.customer,
    kind: data.kind,
    maxUsers: data.max_users,
    maxGpus: data.max_gpus ?? null,
    issuedAt: data.issued_at,
    expiresAt: data.expires_at ?? null,
    deviceId: data.device_id ?? null,
  };
}

/** Reads a license that is valid for this device, expired or not. Throws a `LicenseRefusal`. */
export function acceptLicense(
  file: string,
  { key, deviceId }: { readonly key: KeyObject; readonly deviceId: string },
): LicenseTerms {
  const terms = readLicenseFile(file, key);
  if (terms.deviceId === null || terms.deviceId === deviceId) return terms;
  throw new LicenseRefusal(
    "The license is for another device; GET /api/license/device tells the id of this one.",
  );
}
