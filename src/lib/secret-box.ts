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
}

const VERSION = "v1.";
const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** @param key 32 bytes, used for nothing else. */
export function createSecretBox(key: Buffer): SecretBox {
  return {
    seal(text, owner) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(owner));
      const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
      return VERSION + Buffer.concat(parts).toString("base64url");
    },
    open(sealed, owner) {
      if (!sealed.startsWith(VERSION)) return undefined;
      const bytes = Buffer.from(sealed.slice(VERSION.length), "base64url");
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
      const end = bytes.length - TAG_BYTES;
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(owner))
        .setAuthTag(bytes.subarray(end));
      try {
        const text = decipher.update(bytes.subarray(NONCE_BYTES, end));
        return Buffer.concat([text, decipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
  };
}
