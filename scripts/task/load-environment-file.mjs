import { existsSync } from "node:fs";

/** Loads .env as Bun does by itself; names that are set already keep their value. */
export function loadEnvironmentFile() {
  if (process.versions.bun === undefined && existsSync(".env")) process.loadEnvFile(".env");
}
