import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, type SecureContext } from "node:tls";
import type { PortConfig } from "../../process/process-messages.ts";
import type { Control } from "../control.ts";
import type { PortClock } from "./port-clock.ts";
import { type CertificateFiles, keepSelfSigned } from "./self-signed.ts";

/** Files are looked at no more often, so that connections do not wait for the disk. */
const LOOK_INTERVAL_MS = 60_000;

export interface Certificate {
  /** What new connections use. Changed files are read again, at most once a minute. */
  readonly current: () => Promise<SecureContext>;
}

interface CertificateServices {
  readonly control: Pick<Control, "log">;
  readonly clock: PortClock;
}

/** Opens the port's certificate, or makes one. Rejects with an Error that says what to do. */
export async function openCertificate(
  config: Pick<PortConfig, "certificateFile" | "keyFile" | "selfSignedFolder">,
  { control, clock }: CertificateServices,
): Promise<Certificate> {
  const { certificateFile, keyFile, selfSignedFolder } = config;
  if ((certificateFile === null) !== (keyFile === null)) {
    throw new Error("Set BIKEY_TLS_CERT_FILE and BIKEY_TLS_KEY_FILE both, or neither.");
  }
  const findFiles = async (): Promise<CertificateFiles> =>
    certificateFile === null || keyFile === null
      ? keepSelfSigned(selfSignedFolder, clock.now())
      : { certificateFile, keyFile };

  let files = await findFiles();
  let version = await versionOf(files);
  let context = await readContext(files);
  let lookAt = clock.now() + LOOK_INTERVAL_MS;
  let looking: Promise<void> | undefined;

  const look = async (): Promise<void> => {
    const before = version;
    try {
      files = await findFiles();
      version = await versionOf(files);
      if (version !== before) context = await readContext(files);
    } catch (thrown) {
      // The last one serves on. Files that are being replaced differ again at the next look.
      control.log("error", "the changed certificate of the PostgreSQL port cannot be used", {
        reason: thrown instanceof Error ? thrown.message : String(thrown),
      });
    }
  };

  return {
    async current() {
      if (clock.now() >= lookAt) {
        lookAt = clock.now() + LOOK_INTERVAL_MS;
        looking = look().finally(() => {
          looking = undefined;
        });
      }
      await looking;
      return context;
    },
  };
}

async function versionOf({ certificateFile, keyFile }: CertificateFiles): Promise<string> {
  const marks = await Promise.all(
    [certificateFile, keyFile].map(async (path) => {
      const { mtimeMs, size, ino } = await stat(path).catch(because(`cannot find ${path}`));
      return `${ino}:${mtimeMs}:${size}`;
    }),
  );
  return marks.join(" ");
}

async function readContext({ certificateFile, keyFile }: CertificateFiles): Promise<SecureContext> {
  const cert = await readFile(certificateFile).catch(because(`cannot read ${certificateFile}`));
  const key = await readFile(keyFile).catch(because(`cannot read ${keyFile}`));
  const certificate = orBecause(`${certificateFile} is no certificate in PEM`, () => {
    return new X509Certificate(cert);
  });
  const privateKey = orBecause(`${keyFile} is no private key in PEM without a password`, () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(
      `The TLS certificate cannot be used: ${keyFile} is not the key of ${certificateFile}.`,
    );
  }
  return orBecause("the files do not fit TLS", () =>
    createSecureContext({ cert, key, minVersion: "TLSv1.2" }),
  );
}

function orBecause<Result>(reason: string, work: () => Result): Result {
  try {
    return work();
  } catch (thrown) {
    return because(reason)(thrown);
  }
}

function because(reason: string): (thrown: unknown) => never {
  return (cause) => {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The TLS certificate cannot be used: ${reason} (${detail}).`, { cause });
  };
}
