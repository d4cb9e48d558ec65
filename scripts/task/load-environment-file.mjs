import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";

/**
 * Loads .env; variables that are already set keep their value. Bun does so by itself only where it is not called as
 * `node`, and reads a `$` in a value as the name of another variable.
 */
export function loadEnvironmentFile() {
  if (!existsSync(".env")) return;
  for (const [name, value] of Object.entries(parseEnv(readFileSync(".env", "utf8")))) {
    process.env[name] ??= value;
  }
}
