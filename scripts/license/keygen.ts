import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { givenPath } from "../given-path.ts";

/**
 * Creates a key pair. Writes the private key to a new file that only its user can read and prints the public key.
 * Returns the exit code.
 */
export function keygen(args: string[]): number {
  const { out } = parseArgs({
    args,
    options: { out: { type: "string", default: "license-private-key.pem" } },
  }).values;
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ format: "pem", type: "pkcs8" });
  writeFileSync(givenPath(out), pem, { flag: "wx", mode: 0o600 });
  const spki = publicKey.export({ format: "der", type: "spki" });
  console.log(`Private key, keep it secret: ${out}`);
  console.log(`LICENSE_PUBLIC_KEY=${spki.subarray(-32).toString("base64url")}`);
  return 0;
}
