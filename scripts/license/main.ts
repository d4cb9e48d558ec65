// Makes keys and licenses, for a vendor: `bun run license keygen|issue|inspect`.
import { inspect } from "./inspect.ts";
import { issue } from "./issue.ts";
import { keygen } from "./keygen.ts";
import { UsageError } from "./usage-error.ts";

const USAGE = `Usage:
  license keygen [--out license-private-key.pem]
      Makes a pair of keys. The private one goes into a new file, the public one is printed: gateways read it from
      LICENSE_PUBLIC_KEY, or from src/license/verification-key.ts.
  license issue --key license-private-key.pem --customer NAME --kind subscription --expires 2027-11-01
                --max-users 50 --out customer.lic [--max-gpus 4] [--device dev_…] [--id ID]
  license issue --key license-private-key.pem --customer NAME --kind perpetual --max-users 50 --out customer.lic
                [--max-gpus 4] [--device dev_…] [--id ID]
      Signs a license. A day means its beginning in UTC. GET /api/license/device of a gateway tells its device.
  license inspect customer.lic [--public-key KEY]
      Shows a license and whether it verifies under the key given, else under LICENSE_PUBLIC_KEY, else under the one
      built in.
No file is ever overwritten.`;

const commands: Readonly<Record<string, (args: string[]) => number>> = {
  keygen,
  issue,
  inspect,
};

function run([name = "", ...args]: readonly string[]): number {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  try {
    if (command === undefined) throw new UsageError("say which: keygen, issue or inspect");
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

/** Ours, or an option that is not known. */
function isUsage(thrown: unknown): boolean {
  if (thrown instanceof UsageError) return true;
  return thrown instanceof Error && "code" in thrown && /^ERR_PARSE_ARGS/.test(String(thrown.code));
}

process.exit(run(process.argv.slice(2)));
