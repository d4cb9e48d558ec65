import { existsSync } from "node:fs";

/** Loads .env as Bun does by default; variables that are already set keep their value. */
export function loadEnvironmentFile() {
  if (process.versions.bun === undefined && existsSync(".env")) process.loadEnvFile(".env");
}
