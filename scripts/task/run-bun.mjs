import { spawnSync } from "node:child_process";

const BUN = "1.4.5";

/**
 * Runs a Bun command, because only Bun reads bun.lockb: on the current Bun, an installed one, or one that npm fetches.
 */
export function runBun(args) {
  const [command, ...prefix] = findBun();
  // Its error output is captured, to report an unreachable registry in one line instead of hundreds.
  const { status, error, stderr } = spawnSync(command, [...prefix, ...args], {
    stdio: ["inherit", "inherit", "pipe"],
    encoding: "utf8",
  });
  if (status === 0) {
    process.stderr.write(stderr);
    return;
  }
  if (error) console.error(`${command}: ${error.message}`);
  else if (isUnreachable(stderr)) {
    console.error(
      "The package registry cannot be reached: check the network, the proxy (HTTPS_PROXY) or the registry set in .npmrc, and run this again.",
    );
  } else process.stderr.write(stderr);
  process.exit(status ?? 1);
}

/** Returns true when the installer's error output indicates an unreachable registry. */
function isUnreachable(complaints) {
  return /ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|ENETUNREACH|DNSResolve|UnknownHost/i.test(
    complaints,
  );
}

function findBun() {
  if (process.versions.bun) return [process.execPath];
  if (spawnSync("bun", ["--version"], { stdio: "ignore" }).status === 0) return ["bun"];
  // Without --allow-scripts newer npm versions install only a stub of Bun.
  return ["npm", "exec", "--yes", "--allow-scripts=bun", `--package=bun@${BUN}`, "--", "bun"];
}
