import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { randomBase62 } from "../../src/lib/id.ts";
import { givenPath } from "../given-path.ts";
import { type LicensePayload, signLicense } from "./sign-license.ts";
import { UsageError } from "./usage-error.ts";

const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,3})?Z)?$/;

/** Signs a license into a new file. Returns the exit code. */
export function issue(args: string[]): number {
  const { values } = parseArgs({
    args,
    options: {
      key: { type: "string" },
      customer: { type: "string" },
      kind: { type: "string" },
      "max-users": { type: "string" },
      "max-gpus": { type: "string" },
      expires: { type: "string" },
      device: { type: "string" },
      id: { type: "string" },
      out: { type: "string" },
    },
  });
  const kind = kindOf(required("kind", values.kind));
  const payload: LicensePayload = {
    version: 1,
    id: values.id ?? `lic_${randomBase62(22)}`,
    customer: required("customer", values.customer),
    kind,
    max_users: countOf("max-users", required("max-users", values["max-users"]), 1),
    max_gpus: values["max-gpus"] === undefined ? null : countOf("max-gpus", values["max-gpus"], 0),
    issued_at: new Date().toISOString(),
    expires_at: expiryOf(kind, values.expires),
    device_id: values.device ?? null,
  };
  const out = required("out", values.out);
  if (!out.endsWith(".lic")) throw new UsageError("--out must end in .lic");
  const file = signLicense(payload, readKey(required("key", values.key)));
  writeFileSync(givenPath(out), file, { flag: "wx" });
  console.log(`${out}: ${JSON.stringify(payload)}`);
  return 0;
}

function required(option: string, value: string | undefined): string {
  if (value === undefined || value === "") throw new UsageError(`--${option} is missing`);
  return value;
}

function kindOf(word: string): LicensePayload["kind"] {
  if (word === "subscription" || word === "perpetual") return word;
  throw new UsageError("--kind must be subscription or perpetual");
}

function countOf(option: string, text: string, least: number): number {
  const count = Number(text);
  if (/^\d{1,9}$/.test(text) && count >= least) return count;
  throw new UsageError(`--${option} must be a whole number of at least ${least}`);
}

function expiryOf(kind: LicensePayload["kind"], text: string | undefined): string | null {
  if (kind === "perpetual") {
    if (text === undefined) return null;
    throw new UsageError("a perpetual license has no --expires");
  }
  const given = required("expires", text);
  const time = new Date(TIME.test(given) ? given : Number.NaN);
  // Some runtimes accept the 30th of February as a day in March.
  if (!Number.isNaN(time.getTime()) && time.toISOString().startsWith(given.slice(0, 10))) {
    return time.toISOString();
  }
  throw new UsageError(
    "--expires must be a day such as 2027-11-01, or a time such as 2027-11-01T12:00:00Z",
  );
}

function readKey(file: string): KeyObject {
  const key = createPrivateKey(readFileSync(givenPath(file)));
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new UsageError(`${file} does not contain an Ed25519 key`);
}
