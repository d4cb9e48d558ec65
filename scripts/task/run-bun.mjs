import { spawnSync } from "node:child_process";

const BUN = "1.4.5";

/** Runs a Bun command, which alone reads bun.lockb: on Bun itself, on the one installed, or on one fetched by npm. */
export function runBun(args) {
  const [command, ...prefix] = findBun();
  // Its complaints are kept, to tell a registry that does not answer in one line instead of hundreds.
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

/** True when an installer's complaints are those of a registry that does not answer. */
function isUnreachable(complaints) {
  return /ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNRESET|ENETUNREACH|DNSResolve|UnknownHost/i.test(
    complaints,
  );
}

function findBun() {
  if (process.versions.bun) return [process.execPath];
  if (spawnSync("bun", ["--version"], { stdio: "ignore" }).status === 0) return ["bun"];
  // Without --allow-scripts newer npm leaves a stub in Bun's place.
  return ["npm", "exec", "--yes", "--allow-scripts=bun", `--package=bun@${BUN}`, "--", "bun"];
}
