import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inspect } from "../../scripts/license/inspect.ts";
import { issue } from "../../scripts/license/issue.ts";
import { UsageError } from "../../scripts/license/usage-error.ts";
import { readLicenseFile } from "../../src/license/license-file.ts";
import { readVerificationKey } from "../../src/license/verification-key.ts";
import { commandOf } from "../support/processes/bundled-program.ts";
import { licenseText } from "../support/stages/access/test-license.ts";

let folder: string;
let key: string;
let publicKey: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "license-script-"));
  key = join(folder, "vendor.pem");
  const made = await run(["keygen", "--out", key]);
  publicKey = /^LICENSE_PUBLIC_KEY=(\S+)$/m.exec(made.stdout)?.[1] ?? "";
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `license`, on the runtime of the tests. */
async function run(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Result> {
  const [program = "", ...rest] = await commandOf("scripts/license/main.ts");
  return new Promise((resolve) => {
    const env = { PATH: "/usr/bin:/bin", ...environment };
    execFile(program, [...rest, ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

const subscription = (out: string, more: readonly string[] = []) => [
  "issue",
  ...["--key", key, "--customer", "Müller & Söhne", "--kind", "subscription"],
  ...["--expires", "2099-11-01", "--max-users", "7", "--out", join(folder, out)],
  ...more,
];

describe("license keygen", () => {
  it("keeps the private key in a file for its user alone, and prints the public one", () => {
    expect(readFileSync(key, "utf8")).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    expect(statSync(key).mode & 0o777).toBe(0o600);
    expect(publicKey).toMatch(/^[\w-]{43}$/);
    expect(readVerificationKey(publicKey).isBuiltIn).toBe(false);
  });

  it("writes where its user called it, not into the package's folder", async () => {
    const { code } = await run(["keygen", "--out", "other.pem"], { INIT_CWD: folder });
    expect(code).toBe(0);
    expect(existsSync(join(folder, "other.pem"))).toBe(true);
  });

  it("never overwrites a key", async () => {
    const before = readFileSync(key);
    const { code, stderr } = await run(["keygen", "--out", key]);
    expect(code).toBe(1);
    expect(stderr).toContain("exists");
    expect(readFileSync(key)).toEqual(before);
  });
});

describe("license issue", () => {
  it("signs a license that the service takes", async () => {
    const bound = ["--device", "dev_1", "--max-gpus", "4", "--id", "lic_42"];
    const { code, stdout } = await run(subscription("one.lic", bound));
    expect([code, stdout]).toEqual([0, expect.stringContaining("lic_42")]);
    const file = readFileSync(join(folder, "one.lic"), "latin1");
    expect(readLicenseFile(file, readVerificationKey(publicKey).key)).toEqual({
      id: "lic_42",
      customer: "Müller & Söhne",
      kind: "subscription",
      maxUsers: 7,
      maxGpus: 4,
      issuedAt: expect.any(Number),
      expiresAt: Date.UTC(2099, 10, 1),
      deviceId: "dev_1",
    });
  });

  it("signs a perpetual one, with an id of its own", async () => {
    const out = join(folder, "perpetual.lic");
    const who = ["--key", key, "--customer", "ACME", "--max-users", "1", "--out", out];
    expect((await run(["issue", "--kind", "perpetual", ...who])).code).toBe(0);
    const terms = readLicenseFile(readFileSync(out, "latin1"), readVerificationKey(publicKey).key);
    expect(terms).toMatchObject({
      kind: "perpetual",
      expiresAt: null,
      deviceId: null,
      maxGpus: null,
    });
    expect(terms.id).toMatch(/^lic_\w{22}$/);
    expect(Math.abs(terms.issuedAt - Date.now())).toBeLessThan(60_000);
  });

  it("never overwrites a license", async () => {
    writeFileSync(join(folder, "there.lic"), "kept");
    expect((await run(subscription("there.lic"))).code).toBe(1);
    expect(readFileSync(join(folder, "there.lic"), "utf8")).toBe("kept");
  });

  it.each([
    [
      "without a customer",
      (args: string[]) => without(args, "--customer"),
      "--customer is missing",
    ],
    ["without a key", (args: string[]) => without(args, "--key"), "--key is missing"],
    ["without an end", (args: string[]) => without(args, "--expires"), "--expires is missing"],
    ["with no users", (args: string[]) => [...args, "--max-users", "0"], "--max-users"],
    ["with half a user", (args: string[]) => [...args, "--max-users", "1.5"], "--max-users"],
    ["with another kind", (args: string[]) => [...args, "--kind", "trial"], "--kind"],
    [
      "with an end of a perpetual one",
      (args: string[]) => [...args, "--kind", "perpetual"],
      "--expires",
    ],
    [
      "with a day that is none",
      (args: string[]) => [...args, "--expires", "2027-02-30"],
      "--expires",
    ],
    [
      "with a day of another form",
      (args: string[]) => [...args, "--expires", "1.11.2027"],
      "--expires",
    ],
    ["with another extension", (args: string[]) => [...args, "--out", "x.txt"], "--out"],
  ])("%s writes nothing and says so", (_, change, named) => {
    const [, ...args] = subscription("wrong.lic");
    const refused = refusalOf(() => issue(change(args)));
    expect(refused).toBeInstanceOf(UsageError);
    expect(refused).toMatchObject({ message: expect.stringContaining(named) });
    expect(existsSync(join(folder, "wrong.lic"))).toBe(false);
  });

  it.each([
    ["a wrong option", ["--max-users", "0"], "--max-users"],
    ["an option that is unknown", ["--color", "blue"], "--color"],
  ])("with %s says so and how it is used, and exits with 2", async (_, more, named) => {
    const { code, stderr, stdout } = await run(subscription("wrong.lic", more));
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr.split("\n")[0]).toContain(named);
    expect(stderr).toContain("Usage:");
    expect(existsSync(join(folder, "wrong.lic"))).toBe(false);
  });
});

describe("license inspect", () => {
  it("shows a license and says that it verifies", async () => {
    await run(subscription("shown.lic"));
    for (const [args, environment] of [
      [["--public-key", publicKey], {}],
      [[], { LICENSE_PUBLIC_KEY: publicKey }],
    ] as const) {
      const file = join(folder, "shown.lic");
      const { code, stdout } = await run(["inspect", file, ...args], environment);
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(/"max_users": 7[\s\S]*\nverifies\n$/),
      ]);
    }
  });

  it("takes a public key that begins with a hyphen", async () => {
    await run(subscription("hyphen.lic"));
    const args = ["inspect", join(folder, "hyphen.lic"), "--public-key", `-${"A".repeat(42)}`];
    expect(await run(args)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("does not verify"),
    });
  });

  it("says why one does not, under the key that is built in as under any other", async () => {
    const file = join(folder, "foreign.lic");
    writeFileSync(file, licenseText());
    const { code, stdout } = await run(["inspect", file]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/does not verify: .*signature/)]);
    writeFileSync(file, "\u001b[31mnonsense");
    const other = await run(["inspect", file]);
    expect([other.code, other.stdout]).toEqual([1, expect.stringContaining("does not verify")]);
    expect(other.stdout).not.toContain("\u001b");
  });

  it("wants one license", () => {
    for (const args of [[], ["a.lic", "b.lic"]]) {
      expect(refusalOf(() => inspect(args))).toBeInstanceOf(UsageError);
    }
  });

  it.each([[["inspect", "a.lic", "b.lic"]], [["sign"]], [[]], [["constructor"]]])(
    "%j is no use of it: 2",
    async (args) => {
      const { code, stderr } = await run(args);
      expect([code, stderr]).toEqual([2, expect.stringContaining("Usage:")]);
    },
  );

  it("a file that is not there: 1, in one line", async () => {
    const { code, stderr } = await run(["inspect", join(folder, "missing.lic")]);
    expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
  });
});

function refusalOf(call: () => unknown): unknown {
  try {
    return call();
  } catch (thrown) {
    return thrown;
  }
}

function without(args: readonly string[], option: string): string[] {
  const at = args.indexOf(option);
  return args.filter((_, index) => index !== at && index !== at + 1);
}
