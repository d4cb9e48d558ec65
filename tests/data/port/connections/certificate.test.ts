import { X509Certificate } from "node:crypto";
import { copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { keepSelfSigned } from "../../../../src/data/port/connections/self-signed.ts";
import {
  makeCertificate,
  type TestCertificate,
} from "../../../support/processes/make-certificate.ts";
import { type PortStage, SetClock, startPort } from "./port-stage.ts";

const DAY_MS = 86_400_000;
let folder: string;
let one: TestCertificate;
let other: TestCertificate;
const stages: PortStage[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "certificates-"));
  [one, other] = [makeCertificate("DNS:one.test"), makeCertificate("DNS:other.test")];
});

afterEach(async () => {
  await Promise.all(stages.splice(0).map((stage) => stage.close()));
});

afterAll(async () => {
  one.remove();
  other.remove();
  await rm(folder, { recursive: true, force: true });
});

async function open(...options: Parameters<typeof startPort>): Promise<PortStage> {
  const stage = await startPort(...options);
  stages.push(stage);
  return stage;
}

/** The certificate that a new connection gets. */
async function servedBy(port: number): Promise<X509Certificate> {
  const options = { port, host: "127.0.0.1", rejectUnauthorized: false };
  const socket = connect({ ...options, ALPNProtocols: ["postgresql"] });
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
  });
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return new X509Certificate(raw);
}

describe("a self-signed certificate", () => {
  test("is made once, readable by its user only, and shared by restarts", async () => {
    const selfSignedFolder = join(folder, "made");
    const first = await servedBy((await open({ selfSignedFolder })).port);
    const names = ["DNS:localhost", "IP Address:127.0.0.1", "IP Address:0:0:0:0:0:0:0:1"];
    for (const name of names) expect(first.subjectAltName).toContain(name);
    expect(first.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
    const again = await servedBy((await open({ selfSignedFolder })).port);
    expect(again.fingerprint256).toBe(first.fingerprint256);
    expect(await readdir(selfSignedFolder)).toEqual(["postgres-port.pem"]);
    const { mode } = await stat(join(selfSignedFolder, "postgres-port.pem"));
    expect(mode & 0o777).toBe(0o600);
  });

  test("is renewed a month before its end, and when its file is broken", async () => {
    const place = join(folder, "renewed");
    const fingerprint = async (now: number): Promise<string> => {
      const { certificateFile } = await keepSelfSigned(place, now);
      return new X509Certificate(await readFile(certificateFile)).fingerprint256;
    };
    const now = Date.now();
    const first = await fingerprint(now);
    expect(await fingerprint(now + 3_600 * DAY_MS)).toBe(first);
    const second = await fingerprint(now + 3_625 * DAY_MS);
    expect(second).not.toBe(first);
    await writeFile(join(place, "postgres-port.pem"), "cut");
    expect(await fingerprint(now)).not.toBe(second);
  });
});

describe("a certificate of the settings", () => {
  test("is read again a minute later when its files have changed", async () => {
    const clock = new SetClock();
    const [certificateFile, keyFile] = [join(folder, "c.pem"), join(folder, "k.pem")];
    const use = async (certificate: TestCertificate): Promise<void> => {
      await copyFile(certificate.certificateFile, certificateFile);
      await copyFile(certificate.keyFile, keyFile);
    };
    await use(one);
    const { port, lines } = await open({ certificateFile, keyFile }, { clock });
    expect((await servedBy(port)).subjectAltName).toBe("DNS:one.test");
    await use(other);
    expect((await servedBy(port)).subjectAltName).toBe("DNS:one.test");
    clock.move(60_000);
    expect((await servedBy(port)).subjectAltName).toBe("DNS:other.test");
    await writeFile(keyFile, "broken");
    clock.move(60_000);
    expect((await servedBy(port)).subjectAltName).toBe("DNS:other.test");
    expect(lines.join()).toContain("no private key");
    await use(one);
    clock.move(60_000);
    expect((await servedBy(port)).subjectAltName).toBe("DNS:one.test");
  });

  test("that cannot be used keeps the port closed and says why", async () => {
    const missing = { certificateFile: join(folder, "none.pem"), keyFile: one.keyFile };
    expect((await open(missing)).failure).toContain("cannot find");
    const mixed = { certificateFile: one.certificateFile, keyFile: other.keyFile };
    expect((await open(mixed)).failure).toContain("is not the key of");
    const swapped = { certificateFile: one.keyFile, keyFile: one.certificateFile };
    expect((await open(swapped)).failure).toContain("no certificate in PEM");
    const half = { certificateFile: one.certificateFile, keyFile: null };
    expect((await open(half)).failure).toContain("both");
  });
});

test("a port that is in use says what to do", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as { port: number };
  expect((await open({ port })).failure).toContain("BIKEY_PG_PROXY_PORT");
  await new Promise((resolve) => taken.close(resolve));
});
