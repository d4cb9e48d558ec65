import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readLicenseFile } from "../../src/license/license-file.ts";
import { readVerificationKey } from "../../src/license/verification-key.ts";
import { givenPath } from "../given-path.ts";
import { UsageError } from "./usage-error.ts";

/** Prints a file's content and whether it verifies; returns the exit code. */
export function inspect(args: string[]): number {
  const { values, positionals } = parseArgs({
    args: joinKey(args),
    allowPositionals: true,
    options: { "public-key": { type: "string" } },
  });
  const [path, ...rest] = positionals;
  if (path === undefined || rest.length > 0) throw new UsageError("name one file");
  const file = readFileSync(givenPath(path), "latin1");
  const { key } = readVerificationKey(
    values["public-key"] ?? (process.env["LICENSE_PUBLIC_KEY"] || undefined),
  );
  // Printed before the verification, so that unverified content is not presented as true.
  console.log(`says: ${contentOf(file)}`);
  try {
    readLicenseFile(file, key);
  } catch (thrown) {
    console.log(`does not verify: ${thrown instanceof Error ? thrown.message : thrown}`);
    return 1;
  }
  console.log("verifies");
  return 0;
}

/** Joins the option and its value, because one key in 64 begins with "-" and would be parsed as an option. */
function joinKey(args: string[]): string[] {
  const at = args.indexOf("--public-key");
  const key = args[at + 1];
  return at === -1 || key === undefined ? args : args.toSpliced(at, 2, `--public-key=${key}`);
}

/** Returns the content in printable form, even if it is invalid. */
function contentOf(file: string): string {
  const text = Buffer.from(file.split(".")[0] ?? "", "base64url").toString("utf8");
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return JSON.stringify(text);
  }
}
