import { randomBytes, X509Certificate } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { makeFolder } from "../../../lib/folders/make-folder.ts";
import { syncFolder } from "../../../lib/folders/sync-folder.ts";

export interface CertificateFiles {
  /** The certificate and the rest of its chain, PEM. */
  readonly certificateFile: string;
  readonly keyFile: string;
}

const DAY_MS = 86_400_000;
const VALID_MS = 3650 * DAY_MS;
const RENEWED_BEFORE_MS = 30 * DAY_MS;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const HOST_NAME = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;

/**
 * Keeps a self-signed certificate in a folder, one file with its key, and makes another one a month before it ends.
 * Processes that start at once may each make one; the last one stays.
 *
 * @param now Unix milliseconds.
 */
export async function keepSelfSigned(folder: string, now: number): Promise<CertificateFiles> {
  // One file, so that a certificate and its key are replaced together.
  const file = join(folder, "postgres-port.pem");
  const kept = await readFile(file, "utf8").catch(() => undefined);
  if (kept === undefined || !isUsable(kept, now)) await write(folder, file, await create(now));
  return { certificateFile: file, keyFile: file };
}

function isUsable(pem: string, now: number): boolean {
  try {
    const { validTo } = new X509Certificate(pem);
    return pem.includes("PRIVATE KEY") && Date.parse(validTo) - now > RENEWED_BEFORE_MS;
  } catch {
    // The file was cut or is something else. Nobody but this port writes it.
    return false;
  }
}

async function write(folder: string, file: string, pem: string): Promise<void> {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}.draft`;
  try {
    await makeFolder(folder);
    await writeFile(draft, pem, { mode: 0o600, flush: true });
    await rename(draft, file);
    await syncFolder(folder);
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => undefined);
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`A TLS certificate cannot be kept in ${folder}: ${detail}.`, { cause });
  }
}

/** Creates a certificate for this machine and its key, in PEM. */
async function create(now: number): Promise<string> {
  const x509 = await loadX509();
  const { subtle } = globalThis.crypto;
  const keys = await subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const host = hostname();
  const names = HOST_NAME.test(host) && host !== "localhost" ? [host, "localhost"] : ["localhost"];
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    // A first digit below 8 keeps the number positive.
    serialNumber: `4${randomBytes(16).toString("hex").slice(1)}`,
    name: [{ CN: [names[0] ?? "localhost"] }],
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + VALID_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        ...names.map((value) => ({ type: "dns" as const, value })),
        { type: "ip", value: "127.0.0.1" },
        { type: "ip", value: "::1" },
      ]),
    ],
  });
  const key = x509.PemConverter.encode(
    await subtle.exportKey("pkcs8", keys.privateKey),
    "PRIVATE KEY",
  );
  return `${certificate.toString("pem")}\n${key}\n`;
}

/**
 * Loads the library only when a certificate is made. Its injector reads decorators' metadata while it loads, of which
 * there is none, and demands the two functions of a polyfill for that.
 */
async function loadX509(): Promise<typeof import("@peculiar/x509")> {
  const none = { getMetadata: () => undefined, getOwnMetadata: () => undefined };
  if (!("getMetadata" in Reflect)) Object.assign(Reflect, none);
  return import("@peculiar/x509");
}
