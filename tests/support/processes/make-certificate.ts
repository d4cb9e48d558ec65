import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const canMakeCertificates = spawnSync("openssl", ["version"]).status === 0;

/** A certificate that has signed itself, and its key. */
export interface TestCertificate {
  readonly keyFile: string;
  readonly certificateFile: string;
  /** Its text, which also is that of its authority. */
  readonly pem: string;
  readonly remove: () => void;
}

/** @param names as `DNS:db.test` or `IP:127.0.0.1`. */
export function makeCertificate(...names: readonly string[]): TestCertificate {
  const folder = mkdtempSync(join(tmpdir(), "certificate-"));
  const [keyFile, certificateFile] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  const files = ["-nodes", "-days", "2", "-keyout", keyFile, "-out", certificateFile];
  const subject = ["-subj", "/CN=test", "-addext", `subjectAltName=${names.join(",")}`];
  execFileSync("openssl", [...request, ...files, ...subject], { stdio: "ignore" });
  // Servers under test run as other users.
  chmodSync(folder, 0o755);
  chmodSync(keyFile, 0o644);
  return {
    keyFile,
    certificateFile,
    pem: readFileSync(certificateFile, "utf8"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
