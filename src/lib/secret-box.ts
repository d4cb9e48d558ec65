import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** Encrypts secrets that must be used again, such as passwords of other servers, before they are stored. */
export interface SecretBox {
  /**
   * Returns the text as `v1.` and base64url.
   *
   * @param owner the id of the record that has the secret. A sealed text opens for no other record.
   */
  readonly seal: (text: string, owner: string) => string;
  /** Returns the text; undefined when it was sealed with another key, for another record, or was damaged. */
  readonly open: (sealed: string, owner: string) => string | undefined;
  /** As `seal`, for a content of megabytes that is stored as bytes. */
  readonly sealBytes: (content: Uint8Array, owner: string) => Buffer;
  /** As `open`, for what `sealBytes` returned. */
  readonly openBytes: (sealed: Uint8Array, owner: string) => Buffer | undefined;
}

const VERSION = "v1.";
const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param key 32 bytes, used for nothing else. */
export function createSecretBox(key: Buffer): SecretBox {
  const sealBytes = (content: Uint8Array, owner: string): Buffer => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(owner));
    return Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
  };
  const openBytes = (sealed: Uint8Array, owner: string): Buffer | undefined => {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const end = sealed.length - TAG_BYTES;
    const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(owner))
      .setAuthTag(sealed.subarray(end));
    try {
      const content = decipher.update(sealed.subarray(NONCE_BYTES, end));
      return Buffer.concat([content, decipher.final()]);
    } catch {
      return undefined;
    }
  };
  return {
    seal: (text, owner) => VERSION + sealBytes(Buffer.from(text), owner).toString("base64url"),
    open(sealed, owner) {
      if (!sealed.startsWith(VERSION)) return undefined;
      const bytes = Buffer.from(sealed.slice(VERSION.length), "base64url");
      return openBytes(bytes, owner)?.toString("utf8");
    },
    sealBytes,
    openBytes,
  };
}
