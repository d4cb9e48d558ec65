// Fails when a committed file contains machine-specific text: a registry's address or an absolute path.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";

// Composed at run time, so that this file does not match itself.
const PUBLIC_REGISTRIES = ["npmjs.org", "yarnpkg.com", "npmmirror.com"].map(
  (host) => `registry.${host}`,
);
const TARBALL = /https?:\/\/[\x21-\x7e]+?\.tgz/;

const configured = process.env.npm_config_registry;
const forbidden = [
  ...PUBLIC_REGISTRIES,
  ...(configured ? [new URL(configured).host] : []),
  ...[dirname(process.cwd()), homedir()].filter((path) => path !== "/").map((path) => `${path}/`),
];

const listed = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" }).split("\0");
const files = listed.filter((file) => file !== "" && existsSync(file));
const findings = files.flatMap((file) => {
  const text = readFileSync(file, "latin1");
  const found = forbidden
    .filter((word) => text.includes(word))
    .map((word) => `${file}: contains ${word}`);
  return TARBALL.test(text)
    ? [...found, `${file}: contains a package's address; run \`lock\``]
    : found;
});

for (const finding of findings) console.error(finding);
if (files.length === 0) console.error("no committed file was read");
process.exit(findings.length === 0 && files.length > 0 ? 0 : 1);
