// Creates keys and licenses, for a vendor: `bun run license keygen|issue|inspect`.
import { inspect } from "./inspect.ts";
import { issue } from "./issue.ts";
import { keygen } from "./keygen.ts";
import { UsageError } from "./usage-error.ts";

const USAGE = `Usage:
  license keygen [--out license-private-key.pem]
      Creates a key pair. The private key is written to a new file and the public one is printed: gateways read it from
      LICENSE_PUBLIC_KEY, or from src/license/verification-key.ts.
  license issue --key license-private-key.pem --customer NAME --kind subscription --expires 2027-11-01
                --max-users 50 --out customer.lic [--max-gpus 4] [--device dev_…] [--id ID]
  license issue --key license-private-key.pem --customer NAME --kind perpetual --max-users 50 --out customer.lic
                [--max-gpus 4] [--device dev_…] [--id ID]
      Signs a license. A day means its start in UTC. GET /api/license/device of a gateway returns its device.
  license inspect customer.lic [--public-key KEY]
      Prints a license and whether it verifies with the given key, else with LICENSE_PUBLIC_KEY, else with the
      built-in key.
No file is ever overwritten.`;

const commands: Readonly<Record<string, (args: string[]) => number>> = {
  keygen,
  issue,
  inspect,
};

function run([name = "", ...args]: readonly string[]): number {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  try {
    if (command === undefined) throw new UsageError("name a command: keygen, issue or inspect");
    return command(args);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    if (!isUsage(thrown)) {
      console.error(message);
      return 1;
    }
    console.error(`${message}\n\n${USAGE}`);
    return 2;
  }
}

/** Returns true for our usage errors and for unknown options. */
function isUsage(thrown: unknown): boolean {
  if (thrown instanceof UsageError) return true;
  return thrown instanceof Error && "code" in thrown && /^ERR_PARSE_ARGS/.test(String(thrown.code));
}

process.exit(run(process.argv.slice(2)));
